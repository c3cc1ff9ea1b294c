//! A publishing session.

use std::sync::OnceLock;

use async_trait::async_trait;
use lapin::options::BasicPublishOptions;
use lapin::types::ShortString;
use lapin::{BasicProperties, Channel, Confirmation};

use super::accounting::{self, Answer, Key};
use super::batch::{self, Failure};
use super::channels::Channels;
use super::declare::Purpose;
use super::session::{Deadline, Session};
use super::wire::{Limits, Outgoing, outgoing};
use super::{Broker, declare, errors};
use crate::{Message, Outcome, Published, Publisher, TransportError, TransportOptions};

const CONFIRMS: &str = "waiting for publisher confirms";
const BLOCKED: &str = "it blocks publishers (memory or disk alarm)";

/// One connection with everything that is published on it.
///
/// Batches may run at the same time, each on a channel of its own, for two reasons. lapin gives
/// a message its number and queues its frames in two steps, so that two tasks on one channel can
/// swap numbers. And it hands a returned message to any confirm of the channel: to know that all
/// returns of a batch were seen, no other batch may take part.
pub(super) struct RabbitPublisher {
    session: Session,
    exchange: ShortString,
    options: TransportOptions,
    limits: Limits,
    channels: Channels,
    /// What ended the session.
    lost: OnceLock<String>,
}

impl RabbitPublisher {
    pub(super) async fn open(broker: &Broker) -> Result<Self, TransportError> {
        let deadline = broker.deadline();
        let session = broker.connect("publisher", deadline).await?;
        let channel = broker.declared_channel(&session, Purpose::Publish, deadline).await?;
        let publisher = Self {
            exchange: declare::name(&broker.topology.exchange)?,
            options: broker.options.clone(),
            limits: Limits { body: broker.options.max_body_bytes, frame: session.frame_max() },
            session,
            channels: Channels::default(),
            lost: OnceLock::new(),
        };
        let nowhere = declare::name(&broker.topology.probe_exchange())?;
        publisher.channels.add(&publisher.session, channel.clone(), deadline).await?;
        publisher.probe(&channel, &nowhere, deadline).await?;
        publisher.channels.give_back(&channel);
        Ok(publisher)
    }

    /// Finds out whether the broker takes messages at all, before a batch is put at risk.
    ///
    /// During a memory or disk alarm it takes one message from a new connection, and only then
    /// says that it blocks: so it takes two to know. Without this, each attempt of an outage would
    /// leave a batch in the network's buffers, to arrive as duplicates when the alarm is over.
    /// Waits for the end of the alarm, up to the deadline.
    async fn probe(
        &self,
        channel: &Channel,
        nowhere: &ShortString,
        deadline: Deadline,
    ) -> Result<(), TransportError> {
        for _ in 0..2 {
            let probe = async {
                let sent = send_probe(channel, nowhere.clone()).await;
                sent.map_err(|error| self.probe_error(error))
            };
            match deadline.limit(CONFIRMS, probe).await {
                Ok(Confirmation::Ack(_) | Confirmation::Nack(_)) => (),
                Ok(Confirmation::NotRequested) => return Err(unconfirmed()),
                Err(TransportError::TimedOut { .. }) if self.session.blocked() => {
                    return Err(deadline.missed(BLOCKED));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Who declares the probe's exchange has declared the other one first.
    fn probe_error(&self, error: lapin::Error) -> TransportError {
        match errors::is_not_found(&error) {
            true => TransportError::ExchangeMissing { exchange: self.exchange.to_string() },
            false => self.session.opening_error(error),
        }
    }

    /// Sends a batch and collects the answers. Where one is missing, the error says why.
    async fn exchange(&self, messages: &[Outgoing<'_>]) -> (Vec<Answer>, Option<TransportError>) {
        let nothing_sent = || messages.iter().map(|_| Answer::Missing(None)).collect();
        if let Err(error) = self.usable() {
            return (nothing_sent(), Some(error));
        }
        let deadline = Deadline::after(self.options.confirm_timeout);
        let channel = match self.channels.take(&self.session, deadline).await {
            Ok(channel) => channel,
            Err(error) => return (nothing_sent(), Some(self.end(error))),
        };
        let (answers, failure) = batch::send(&channel, &self.exchange, messages, deadline).await;
        let lost = match failure {
            None => {
                self.channels.give_back(&channel);
                return (answers, None);
            }
            Some(Failure::Late) if self.session.blocked() => deadline.missed(BLOCKED),
            Some(Failure::Late) => deadline.missed(CONFIRMS),
            Some(Failure::Unconfirmed) => unconfirmed(),
            Some(Failure::Ended(error)) => errors::lost(&error),
        };
        (answers, Some(self.end(lost)))
    }

    fn usable(&self) -> Result<(), TransportError> {
        let reason = if let Some(reason) = self.lost.get() {
            reason.clone()
        } else if self.session.blocked() {
            "the broker blocks publishers (memory or disk alarm)".to_owned()
        } else if !self.session.connected() {
            "the connection was closed".to_owned()
        } else if !self.channels.all_connected() {
            "the broker closed a channel".to_owned()
        } else {
            return Ok(());
        };
        Err(self.end(TransportError::SessionLost { reason }))
    }

    /// From here on the session answers nothing but this error.
    fn end(&self, error: TransportError) -> TransportError {
        self.lost.get_or_init(|| match &error {
            TransportError::SessionLost { reason } => reason.clone(),
            other => other.one_line(),
        });
        error
    }
}

#[async_trait]
impl Publisher for RabbitPublisher {
    async fn publish(&self, messages: &[Message]) -> Published {
        let prepared: Vec<_> =
            messages.iter().map(|message| outgoing(message, self.limits)).collect();
        let (mut batch, mut keys, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for (message, prepared) in messages.iter().zip(prepared) {
            refused.push(prepared.as_ref().err().cloned());
            if let Ok(prepared) = prepared {
                batch.push(prepared);
                keys.push(key(message));
            }
        }
        if batch.is_empty() {
            let outcomes = refused.into_iter().flatten().map(Outcome::Refused).collect();
            return Published { outcomes, lost: None };
        }
        let (answers, lost) = self.exchange(&batch).await;
        let mut answered = accounting::outcomes(&keys, &answers).into_iter();
        let outcome = |refused: Option<String>| match refused {
            Some(reason) => Outcome::Refused(reason),
            None => answered.next().unwrap_or(Outcome::Unknown),
        };
        Published { outcomes: refused.into_iter().map(outcome).collect(), lost }
    }

    async fn check(&self) -> Result<(), TransportError> {
        self.usable()
    }
}

impl Drop for RabbitPublisher {
    fn drop(&mut self) {
        self.session.close(std::mem::take(&mut self.channels));
    }
}

/// Publishes an empty message that goes nowhere. The exchange is one of its own: a queue that takes
/// all events (bound with `#`) would get it, and the right to write to the dead letters is no
/// publisher's.
async fn send_probe(channel: &Channel, exchange: ShortString) -> lapin::Result<Confirmation> {
    let (key, options) = (ShortString::default(), BasicPublishOptions::default());
    channel.basic_publish(exchange, key, options, b"", BasicProperties::default()).await?.await
}

fn key(message: &Message) -> Key<'_> {
    (message.properties.message_id.as_deref(), &message.routing_key)
}

/// A publish that nobody will confirm: never to be taken for a success.
fn unconfirmed() -> TransportError {
    TransportError::SessionLost { reason: "publisher confirms are off".to_owned() }
}
