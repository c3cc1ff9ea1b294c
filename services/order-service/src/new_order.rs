use contracts::{CustomerId, Line, Lines, Quantity, Sku};
use serde::{Deserialize, Serialize};
use service_kit::Problem;
use service_kit::problem::FieldError;
use sha2::{Digest, Sha256};

/// The most of one SKU in one line as sent. The sum over repeated lines may be larger.
const MAX_LINE_QUANTITY: i64 = 10_000;

/// An order that follows the rules.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NewOrder {
    pub(crate) customer_id: CustomerId,
    pub(crate) lines: Lines,
}

/// An order as a client sends it: the right shape, the rules not checked yet.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OrderBody {
    customer_id: String,
    #[serde(deserialize_with = "strict_json::objects")]
    lines: Vec<LineBody>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineBody {
    sku: String,
    quantity: i64,
}

impl NewOrder {
    /// Identifies the order's content: the same parsed order is the same request, however it was written.
    pub(crate) fn hash(&self) -> Result<String, serde_json::Error> {
        let canonical = serde_json::to_vec(self)?;
        Ok(Sha256::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Checks all rules, so that a client learns of all its mistakes at once.
impl TryFrom<OrderBody> for NewOrder {
    type Error = Problem;

    fn try_from(body: OrderBody) -> Result<Self, Problem> {
        let mut errors = Vec::new();
        let customer_id = check(&mut errors, "customerId", body.customer_id.parse::<CustomerId>());
        let mut lines = Vec::with_capacity(body.lines.len());
        // Past the limit one error says it all; a list of thousands would say no more.
        for (index, line) in body.lines.iter().take(Lines::MAX).enumerate() {
            let at = format!("lines[{index}]");
            let sku = check(&mut errors, &format!("{at}.sku"), line.sku.parse::<Sku>());
            let quantity =
                check(&mut errors, &format!("{at}.quantity"), line_quantity(line.quantity));
            if let (Some(sku), Some(quantity)) = (sku, quantity) {
                lines.push(Line { sku, quantity });
            }
        }
        let lines = match body.lines.len() {
            1..=Lines::MAX if errors.is_empty() => {
                check(&mut errors, "lines", Lines::try_from(lines))
            }
            1..=Lines::MAX => None,
            _ => check(&mut errors, "lines", Err(contracts::InvalidLines::Count)),
        };
        match (customer_id, lines) {
            (Some(customer_id), Some(lines)) if errors.is_empty() => {
                Ok(Self { customer_id, lines })
            }
            _ => Err(Problem::invalid(errors)),
        }
    }
}

fn line_quantity(number: i64) -> Result<Quantity, String> {
    u32::try_from(number)
        .ok()
        .filter(|_| number <= MAX_LINE_QUANTITY)
        .and_then(|number| Quantity::try_from(number).ok())
        .ok_or_else(|| format!("expected a whole number from 1 to {MAX_LINE_QUANTITY}"))
}

fn check<T, E: ToString>(
    errors: &mut Vec<FieldError>,
    field: &str,
    value: Result<T, E>,
) -> Option<T> {
    value
        .map_err(|error| {
            errors.push(FieldError { field: field.to_owned(), message: error.to_string() });
        })
        .ok()
}
