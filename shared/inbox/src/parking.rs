use std::fmt;

use database::{Dialect, begin_write};
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr};
use serde_json::{Value, json};
use transport::{Delivery, Message};

use crate::aggregate::Step;
use crate::transaction::sha256_hex;
use crate::{Unreadable, attempts, positions};

/// Why a message was parked, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It has no message id, or one that is no UUID.
    MalformedMessageId,
    /// Its id was used before, for another body.
    DuplicateIdOtherBody,
    /// Nobody here knows its type.
    UnknownType,
    /// Its major schema version is not ours.
    UnsupportedVersion,
    /// Its body is not what its type says.
    MalformedBody,
    /// The handler gave up on it.
    HandlerFailed,
    /// The broker gave up on it after too many deliveries.
    DeliveryLimit,
    /// It waited longer than it was allowed to.
    Expired,
    /// While it was tried again, a later version of its aggregate took effect.
    Stale,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MalformedMessageId => "malformed_message_id",
            Self::DuplicateIdOtherBody => "duplicate_id_other_body",
            Self::UnknownType => "unknown_type",
            Self::UnsupportedVersion => "unsupported_version",
            Self::MalformedBody => "malformed_body",
            Self::HandlerFailed => "handler_failed",
            Self::DeliveryLimit => "delivery_limit",
            Self::Expired => "expired",
            Self::Stale => "stale",
        })
    }
}

/// Whose turn a message had come to when it was parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InTurn {
    /// Its own: it was about to take effect, or had tried to.
    Yes,
    /// Perhaps its own, perhaps that of an earlier version of its aggregate. The table tells.
    Unknown,
}

/// A message's end in `parked_messages`.
pub(crate) struct Parking<'a> {
    pub(crate) consumer: &'a str,
    /// The message's place in the life of its aggregate, where an order is kept.
    pub(crate) step: Option<&'a Step>,
    pub(crate) in_turn: InTurn,
}

impl Parking<'_> {
    /// Writes a delivery down, intact, with the reason, and lets its followers pass. False: that
    /// was done before. The caller acknowledges it afterwards.
    ///
    /// A crash between the two brings it again, marked as redelivered: it is then recognised and not
    /// parked twice. An equal message that somebody *sent* twice is parked twice.
    pub(crate) async fn park(
        &self,
        db: &DatabaseConnection,
        delivery: &Delivery,
        why: &Unreadable,
    ) -> Result<bool, DbErr> {
        let message = &delivery.message;
        if is_parked(db, self.consumer, delivery).await? {
            return Ok(false);
        }
        let tx = begin_write(db).await?;
        write(&tx, self.consumer, message, why).await?;
        let message_id = message.properties.message_id.as_deref();
        if let Some(message_id) = message_id.and_then(|id| id.parse().ok()) {
            attempts::forget(&tx, self.consumer, message_id).await?;
        }
        self.let_followers_pass(&tx).await?;
        tx.commit().await?;
        tracing::warn!(
            consumer = self.consumer,
            message_id,
            kind = message.properties.kind,
            "parked ({}): {}",
            why.reason,
            why.detail
        );
        Ok(true)
    }

    /// A parked version is no reason for the next one to wait. But one that was parked before its
    /// turn must not make those before it look late.
    async fn let_followers_pass(&self, tx: &DatabaseTransaction) -> Result<(), DbErr> {
        let Some(Step { aggregate, version }) = self.step else {
            return Ok(());
        };
        let known = positions::read(tx, self.consumer, &[aggregate].into()).await?;
        let position = known.get(aggregate).copied().unwrap_or_default();
        if self.in_turn == InTurn::Yes || *version == position + 1 {
            let moved = [(aggregate.clone(), *version)].into();
            positions::advance(tx, self.consumer, &moved).await?;
        }
        Ok(())
    }
}

async fn write(
    db: &DatabaseTransaction,
    consumer: &str,
    message: &Message,
    why: &Unreadable,
) -> Result<(), DbErr> {
    let dialect = Dialect::of(db);
    let properties = properties(message);
    let fingerprint = fingerprint(&properties, &message.body);
    let sql = format!(
        "INSERT INTO parked_messages (parked_id, consumer, message_id, type, reason, detail,
           properties, body, fingerprint, parked_at)
         VALUES ($1, $2, $3, $4, $5, $6, {properties}, $8, $9, {now})",
        properties = dialect.json("$7"),
        now = dialect.now(),
    );
    let values = [
        uuid::Uuid::now_v7().to_string().into(),
        consumer.into(),
        storable(message.properties.message_id.as_deref()).into(),
        storable(message.properties.kind.as_deref()).into(),
        why.reason.to_string().into(),
        storable(Some(&why.detail)).into(),
        properties.to_string().into(),
        message.body.clone().into(),
        fingerprint.into(),
    ];
    db.execute_raw(dialect.statement(sql, values)).await.map(|_| ())
}

/// Whether a delivery that may have been here before was parked then.
pub(crate) async fn is_parked(
    db: &DatabaseConnection,
    consumer: &str,
    delivery: &Delivery,
) -> Result<bool, DbErr> {
    Ok(delivery.redelivered && was_parked(db, consumer, &delivery.message).await?)
}

/// Whether this message, or an equal one, was parked at some time.
pub(crate) async fn was_parked<C: ConnectionTrait>(
    db: &C,
    consumer: &str,
    message: &Message,
) -> Result<bool, DbErr> {
    let fingerprint = fingerprint(&properties(message), &message.body);
    let sql = "SELECT 1 AS found FROM parked_messages WHERE consumer = $1 AND fingerprint = $2";
    let statement = Dialect::of(db).statement(sql, [consumer.into(), fingerprint.into()]);
    Ok(db.query_one_raw(statement).await?.is_some())
}

fn properties(message: &Message) -> Value {
    json!({
        "routingKey": message.routing_key,
        "properties": message.properties,
        "headers": message.headers,
    })
}

/// What RabbitMQ itself writes into the headers of a quorum queue's message, anew at each delivery.
const DELIVERY_COUNTERS: [&str; 2] = ["x-delivery-count", "x-acquired-count"];

/// The same for each delivery of a message.
fn fingerprint(properties: &Value, body: &[u8]) -> String {
    let mut constant = properties.clone();
    if let Some(headers) = constant["headers"].as_object_mut() {
        headers.retain(|name, _| !DELIVERY_COUNTERS.contains(&name.as_str()));
    }
    sha256_hex((constant.to_string() + &sha256_hex(body)).as_bytes())
}

/// PostgreSQL's text can't hold NUL, and a stranger's message can.
pub(crate) fn storable(text: Option<&str>) -> Option<String> {
    text.map(|text| text.replace('\0', "\u{fffd}"))
}
