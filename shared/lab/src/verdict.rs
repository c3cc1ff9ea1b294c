//! What came of a run, by what the tables hold in the end. The rules are those of the invariants I1, I4, I8
//! and I9: every order in force has its effect, every effect its order, each once.

use crate::trace::{Because, Equation, State, Verdict};

/// Statuses of orders that want no stock (any more).
const NOT_IN_FORCE: [&str; 3] = ["Cancelling", "Cancelled", "Rejected"];

/// How a run ended.
pub(crate) struct End<'a> {
    pub(crate) state: &'a State,
    /// Orders that the client wants.
    pub(crate) wanted: u64,
    /// Whether the failure happened.
    pub(crate) happened: bool,
    /// Whether nothing waits any more.
    pub(crate) drained: bool,
}

impl End<'_> {
    pub(crate) fn equation(&self) -> Equation {
        Equation {
            wanted: self.wanted,
            accepted: self.in_force().count() as u64,
            reservations: self.state.stock.iter().map(|item| item.reserved).sum(),
            text_messages: self.state.text_messages.iter().map(|message| message.times).sum(),
        }
    }

    /// The worst of what was found, and all reasons for it.
    pub(crate) fn verdict(&self) -> (Verdict, Vec<Because>) {
        let found = [
            (Verdict::Void, self.did_not_happen()),
            (Verdict::Stuck, self.stays()),
            (Verdict::Lost, self.without_effect()),
            (Verdict::Ghost, self.without_order()),
            (Verdict::Duplicated, self.doubled()),
            (Verdict::Stuck, self.undecided()),
        ];
        let worst = found.into_iter().find(|(_, because)| !because.is_empty());
        worst.unwrap_or((Verdict::ExactlyOneEffect, vec![]))
    }

    fn did_not_happen(&self) -> Vec<Because> {
        match self.happened {
            true => vec![],
            false => vec![because("failure-did-not-happen", None, None)],
        }
    }

    fn stays(&self) -> Vec<Because> {
        match self.drained {
            true => vec![],
            false => vec![because("backlog-stays", None, None)],
        }
    }

    fn without_effect(&self) -> Vec<Because> {
        let lost = self.in_force().filter(|order| !self.is_reserved(order));
        let mut lost: Vec<_> = lost.map(|order| because("no-effect", Some(order), None)).collect();
        let refused = self.state.orders.iter().filter(|order| order.status == "Rejected");
        lost.extend(refused.map(|order| because("no-effect", Some(&order.order), None)));
        let accepted = self.state.orders.len() as u64;
        if accepted < self.wanted {
            lost.push(because("no-such-order", None, None));
        }
        if self.equation().reservations < self.reserved_orders() {
            lost.push(because("no-effect", None, None));
        }
        lost
    }

    fn without_order(&self) -> Vec<Because> {
        let mut ghosts = vec![];
        for reservation in self.state.reservations.iter().filter(|it| it.status == "Reserved") {
            let order = self.state.orders.iter().find(|order| order.order == reservation.order);
            let code = match order {
                None => "no-order",
                Some(order) if NOT_IN_FORCE.contains(&order.status.as_str()) => {
                    "cancelled-but-reserved"
                }
                Some(_) => continue,
            };
            ghosts.push(because(code, Some(&reservation.order), None));
        }
        ghosts
    }

    fn doubled(&self) -> Vec<Because> {
        let mut doubled = vec![];
        let Equation { wanted, accepted, reservations, .. } = self.equation();
        if reservations > self.reserved_orders() {
            doubled.push(because("reserved-twice", None, Some(reservations)));
        }
        if accepted > wanted {
            doubled.push(because("ordered-twice", None, i64::try_from(accepted).ok()));
        }
        for text in self.state.text_messages.iter().filter(|text| text.times > 1) {
            let times = i64::try_from(text.times).ok();
            doubled.push(because("texted-twice", Some(&text.order), times));
        }
        doubled
    }

    /// Nothing waits any more, and an order still does not know what became of it.
    fn undecided(&self) -> Vec<Because> {
        let decided = ["Confirmed", "Cancelled"];
        let orders = self.state.orders.iter();
        let open = orders.filter(|order| !decided.contains(&order.status.as_str()));
        open.map(|order| because("status-stays", Some(&order.order), None)).collect()
    }

    fn reserved_orders(&self) -> i64 {
        let reserved = self.state.reservations.iter().filter(|it| it.status == "Reserved");
        i64::try_from(reserved.count()).unwrap_or(i64::MAX)
    }

    fn in_force(&self) -> impl Iterator<Item = &str> {
        let orders = self.state.orders.iter();
        let in_force = orders.filter(|order| !NOT_IN_FORCE.contains(&order.status.as_str()));
        in_force.map(|order| order.order.as_str())
    }

    fn is_reserved(&self, order: &str) -> bool {
        let mut reservations = self.state.reservations.iter();
        reservations.any(|it| it.order == order && it.status == "Reserved")
    }
}

fn because(code: &str, order: Option<&str>, times: Option<i64>) -> Because {
    Because { code: code.to_owned(), order: order.map(str::to_owned), times }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Order, Stock, TextMessage};

    fn order(status: &str) -> Order {
        Order { order: "order-1".to_owned(), status: status.to_owned() }
    }

    fn state(orders: &[&str], reservations: &[&str], reserved: i64) -> State {
        State {
            orders: orders.iter().map(|status| order(status)).collect(),
            reservations: reservations.iter().map(|status| order(status)).collect(),
            stock: vec![Stock { sku: "KEYBOARD".to_owned(), on_hand: 1000, reserved }],
            ..State::default()
        }
    }

    fn verdict(state: &State) -> Verdict {
        End { state, wanted: 1, happened: true, drained: true }.verdict().0
    }

    #[test]
    fn one_order_with_one_effect_is_as_it_should_be() {
        assert_eq!(verdict(&state(&["Confirmed"], &["Reserved"], 1)), Verdict::ExactlyOneEffect);
        assert_eq!(verdict(&state(&["Cancelled"], &["Released"], 0)), Verdict::ExactlyOneEffect);
    }

    #[test]
    fn an_order_without_an_effect_is_lost() {
        assert_eq!(verdict(&state(&["Placed"], &[], 0)), Verdict::Lost);
        assert_eq!(verdict(&state(&[], &[], 0)), Verdict::Lost);
    }

    #[test]
    fn an_effect_without_an_order_is_a_ghost() {
        let mut ghost = state(&["Confirmed"], &["Reserved", "Reserved"], 2);
        ghost.reservations[1].order = "order-2".to_owned();
        assert_eq!(verdict(&ghost), Verdict::Ghost);
        assert_eq!(verdict(&state(&["Cancelling"], &["Reserved"], 1)), Verdict::Ghost);
    }

    #[test]
    fn more_pieces_than_orders_are_doubled_and_so_are_text_messages() {
        assert_eq!(verdict(&state(&["Confirmed"], &["Reserved"], 2)), Verdict::Duplicated);
        let mut texted = state(&["Confirmed"], &["Reserved"], 1);
        texted.text_messages = vec![TextMessage { order: "order-1".to_owned(), times: 2 }];
        assert_eq!(verdict(&texted), Verdict::Duplicated);
    }

    #[test]
    fn an_order_that_never_learns_what_became_of_it_is_stuck() {
        assert_eq!(verdict(&state(&["Placed"], &["Reserved"], 1)), Verdict::Stuck);
        assert_eq!(verdict(&state(&["Cancelling"], &["Released"], 0)), Verdict::Stuck);
    }

    #[test]
    fn a_wish_that_was_rejected_for_no_reason_is_lost_and_so_is_a_reservation_without_stock() {
        assert_eq!(verdict(&state(&["Rejected"], &["Rejected"], 0)), Verdict::Lost);
        assert_eq!(verdict(&state(&["Confirmed"], &["Reserved"], 0)), Verdict::Lost);
    }

    #[test]
    fn what_did_not_happen_or_did_not_end_says_nothing_else() {
        let state = state(&["Placed"], &[], 0);
        let end = End { state: &state, wanted: 1, happened: true, drained: false };
        assert_eq!(end.verdict().0, Verdict::Stuck);
        let end = End { happened: false, ..end };
        assert_eq!(end.verdict().0, Verdict::Void);
    }
}
