//! Sends batches and waits for all their confirms.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::Poll;

use async_trait::async_trait;
use futures_util::future::{MaybeDone, maybe_done};
use lapin::message::BasicReturnMessage;
use lapin::options::BasicPublishOptions;
use lapin::types::ShortString;
use lapin::{BasicProperties, Channel, Confirmation};
use tokio::time::timeout_at;

use super::accounting::{self, Answer, Key, Returned};
use super::channels::Channels;
use super::session::{Deadline, Session};
use super::wire::{Limits, Outgoing, outgoing};
use super::{Broker, declare, errors};
use crate::{Message, Outcome, Published, Publisher, TransportError, TransportOptions};

const CONFIRMS: &str = "waiting for publisher confirms";
const BLOCKED: &str = "it blocks publishers (memory or disk alarm)";

/// A publishing session.
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
        let channel = broker.declared_channel(&session, deadline).await?;
        let publisher = Self {
            exchange: declare::name(&broker.topology.exchange)?,
            options: broker.options.clone(),
            limits: Limits { body: broker.options.max_body_bytes, frame: session.frame_max() },
            session,
            channels: Channels::default(),
            lost: OnceLock::new(),
        };
        let dead_letters = declare::name(&broker.topology.dead_letter_exchange)?;
        publisher.channels.add(&publisher.session, channel.clone(), deadline).await?;
        publisher.probe(&channel, &dead_letters, deadline).await?;
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
        dead_letter_exchange: &ShortString,
        deadline: Deadline,
    ) -> Result<(), TransportError> {
        for _ in 0..2 {
            let probe = async {
                let sent = send_probe(channel, dead_letter_exchange.clone()).await;
                sent.map_err(|error| self.session.opening_error(error))
            };
            let answer = deadline.limit(CONFIRMS, probe).await;
            match answer.map_err(|error| self.name_the_alarm(error, deadline))? {
                Confirmation::NotRequested => return Err(unconfirmed()),
                Confirmation::Ack(_) | Confirmation::Nack(_) => (),
            }
        }
        Ok(())
    }

    /// A time-out with its cause, where it is known.
    fn name_the_alarm(&self, error: TransportError, deadline: Deadline) -> TransportError {
        match error {
            TransportError::TimedOut { .. } if self.session.blocked() => deadline.missed(BLOCKED),
            error => error,
        }
    }

    /// Sends a batch and collects the answers. Where one is missing, the error says why.
    async fn exchange(&self, batch: &[Outgoing<'_>]) -> (Vec<Answer>, Option<TransportError>) {
        let nothing_sent = || batch.iter().map(|_| Answer::Missing).collect();
        if let Err(error) = self.usable() {
            return (nothing_sent(), Some(error));
        }
        let deadline = Deadline::after(self.options.confirm_timeout);
        let channel = match self.channels.take(&self.session, deadline).await {
            Ok(channel) => channel,
            Err(error) => return (nothing_sent(), Some(self.end(error))),
        };
        let (answers, failure) = self.send(&channel, batch, deadline).await;
        match failure {
            None => self.channels.give_back(&channel),
            Some(error) => return (answers, Some(self.end(error))),
        }
        (answers, None)
    }

    /// Has the whole batch in flight at once.
    async fn send(
        &self,
        channel: &Channel,
        batch: &[Outgoing<'_>],
        deadline: Deadline,
    ) -> (Vec<Answer>, Option<TransportError>) {
        let mut in_flight = VecDeque::with_capacity(batch.len());
        for message in batch {
            let mut confirm = Box::pin(maybe_done(self.send_one(channel, message)));
            // The first poll queues the frames: the messages leave in the order of this loop.
            poll_fn(|context| Poll::Ready(confirm.as_mut().poll(context).is_ready())).await;
            in_flight.push_back(confirm);
        }
        let mut answers = Vec::with_capacity(batch.len());
        let mut failure = None;
        while let Some(confirm) = in_flight.pop_front() {
            // Answers that came before the failure still count, so go through all of them.
            match answer(confirm, deadline).await {
                Ok(answer) => answers.push(answer),
                Err(error) => {
                    failure.get_or_insert_with(|| self.name_the_alarm(error, deadline));
                    answers.push(Answer::Missing);
                }
            }
        }
        (answers, failure)
    }

    async fn send_one(
        &self,
        channel: &Channel,
        message: &Outgoing<'_>,
    ) -> lapin::Result<Confirmation> {
        // Without `mandatory` the broker confirms what no queue wants, and drops it.
        let options = BasicPublishOptions { mandatory: true, immediate: false };
        let (exchange, key) = (self.exchange.clone(), message.routing_key.clone());
        let properties = message.properties.clone();
        channel.basic_publish(exchange, key, options, message.body, properties).await?.await
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

/// Publishes an empty message that goes nowhere: no queue is bound with an empty key. The right to
/// write to this exchange is needed anyway, for a queue's dead letters.
async fn send_probe(channel: &Channel, exchange: ShortString) -> lapin::Result<Confirmation> {
    let (key, options) = (ShortString::default(), BasicPublishOptions::default());
    channel.basic_publish(exchange, key, options, b"", BasicProperties::default()).await?.await
}

type Confirm<F> = Pin<Box<MaybeDone<F>>>;

/// Waits for one confirm. One that is there already counts even after the deadline.
async fn answer<F>(mut confirm: Confirm<F>, deadline: Deadline) -> Result<Answer, TransportError>
where
    F: Future<Output = lapin::Result<Confirmation>>,
{
    if timeout_at(deadline.at, confirm.as_mut()).await.is_err() {
        return Err(deadline.missed(CONFIRMS));
    }
    match confirm.as_mut().take_output() {
        Some(Ok(Confirmation::Ack(returned))) => Ok(Answer::Ack(returned.map(read_return))),
        Some(Ok(Confirmation::Nack(returned))) => Ok(Answer::Nack(returned.map(read_return))),
        Some(Ok(Confirmation::NotRequested)) | None => Err(unconfirmed()),
        Some(Err(error)) => Err(errors::lost(&error)),
    }
}

fn read_return(message: BasicReturnMessage) -> Returned {
    let id = message.properties.message_id().as_ref();
    Returned {
        message_id: id.map(|id| id.as_str().to_owned()),
        routing_key: message.routing_key.as_str().to_owned(),
        reason: message.reply_text.as_str().to_owned(),
    }
}

fn key(message: &Message) -> Key<'_> {
    (message.properties.message_id.as_deref(), &message.routing_key)
}

/// A publish that nobody will confirm: never to be taken for a success.
fn unconfirmed() -> TransportError {
    TransportError::SessionLost { reason: "publisher confirms are off".to_owned() }
}
