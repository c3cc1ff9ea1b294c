use database::begin_write;
use sea_orm::DatabaseTransaction;
use serde_json::Value;
use test_kit::Proxy;
use transport::{Message, Properties};
use uuid::Uuid;

/// A message as a foreign program would send it, in the form of the contract.
#[must_use]
pub fn message(kind: &str, routing_key: &str, body: &Value) -> Message {
    Message {
        routing_key: routing_key.to_owned(),
        properties: Properties {
            message_id: Some(Uuid::now_v7().to_string()),
            kind: Some(kind.to_owned()),
            content_type: Some("application/json".to_owned()),
            app_id: Some("a stranger".to_owned()),
            ..Properties::default()
        },
        headers: transport::Headers::from([("schema-version".to_owned(), 1.into())]),
        body: body.to_string().into_bytes(),
    }
}

/// The broker is away until [`BrokerOutage::end`].
pub enum BrokerOutage {
    /// RabbitMQ, behind a proxy that is cut.
    Cut(Proxy),
    /// The queue in SQLite, whose one writer's place is taken.
    Locked(Box<DatabaseTransaction>),
}

impl BrokerOutage {
    pub(crate) async fn begin(proxy: Option<&Proxy>, broker_url: &str) -> anyhow::Result<Self> {
        match proxy {
            Some(proxy) => {
                proxy.cut();
                Ok(Self::Cut(proxy.clone()))
            }
            None => {
                let db = test_kit::connect(broker_url)?;
                Ok(Self::Locked(Box::new(begin_write(&db).await?)))
            }
        }
    }

    /// The broker is back.
    ///
    /// # Panics
    /// The lock can't be given back.
    pub async fn end(self) {
        match self {
            Self::Cut(proxy) => proxy.heal(),
            Self::Locked(tx) => tx.rollback().await.expect("the lock is given back"),
        }
    }
}
