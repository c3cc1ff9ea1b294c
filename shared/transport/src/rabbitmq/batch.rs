//! Sends a batch and waits for all its confirms.

use std::future::{Future, poll_fn};
use std::task::Poll;

use futures_util::future::maybe_done;
use lapin::message::BasicReturnMessage;
use lapin::options::BasicPublishOptions;
use lapin::types::ShortString;
use lapin::{Channel, Confirmation};
use tokio::time::timeout_at;

use super::accounting::{Answer, Returned};
use super::session::Deadline;
use super::wire::Outgoing;

/// Why an answer is missing.
pub(super) enum Failure {
    /// The time was up.
    Late,
    /// The channel is not in confirm mode: a message without an answer is never a success.
    Unconfirmed,
    /// The channel or the connection ended.
    Ended(lapin::Error),
}

/// Has the whole batch in flight at once. Returns one answer for each message, and the first
/// failure where any is missing: then neither the channel nor its session may be used again.
pub(super) async fn send(
    channel: &Channel,
    exchange: &ShortString,
    messages: &[Outgoing<'_>],
    deadline: Deadline,
) -> (Vec<Answer>, Option<Failure>) {
    let mut in_flight = Vec::with_capacity(messages.len());
    for message in messages {
        let mut confirm = Box::pin(maybe_done(send_one(channel, exchange, message)));
        // The first poll queues the frames: the messages leave in the order of this loop.
        poll_fn(|context| Poll::Ready(confirm.as_mut().poll(context).is_ready())).await;
        in_flight.push((confirm, true));
    }
    for (confirm, in_time) in &mut in_flight {
        // One that is there already counts even when the wait for another used up the time.
        *in_time = timeout_at(deadline.at, confirm.as_mut()).await.is_ok();
    }
    // The accounting wants to see every return that came before a confirm that counts. A confirm
    // that was passed over may have brought one meanwhile: look at those once more.
    for (confirm, in_time) in &mut in_flight {
        if !*in_time {
            let _ = timeout_at(deadline.at, confirm.as_mut()).await;
        }
    }
    let mut answers = Vec::with_capacity(messages.len());
    let mut failure = None;
    for (mut confirm, in_time) in in_flight {
        let (answer, error) = read(confirm.as_mut().take_output(), in_time);
        answers.push(answer);
        failure = failure.or(error);
    }
    (answers, failure)
}

async fn send_one(
    channel: &Channel,
    exchange: &ShortString,
    message: &Outgoing<'_>,
) -> lapin::Result<Confirmation> {
    // Without `mandatory` the broker confirms what no queue wants, and drops it.
    let options = BasicPublishOptions { mandatory: true, immediate: false };
    let (exchange, key) = (exchange.clone(), message.routing_key.clone());
    let properties = message.properties.clone();
    channel.basic_publish(exchange, key, options, message.body, properties).await?.await
}

fn read(confirm: Option<lapin::Result<Confirmation>>, in_time: bool) -> (Answer, Option<Failure>) {
    match confirm {
        Some(Ok(Confirmation::Ack(returned))) if in_time => {
            (Answer::Ack(returned.map(read_return)), None)
        }
        Some(Ok(Confirmation::Nack(returned))) if in_time => {
            (Answer::Nack(returned.map(read_return)), None)
        }
        Some(Ok(Confirmation::Ack(returned) | Confirmation::Nack(returned))) => {
            (Answer::Missing(returned.map(read_return)), Some(Failure::Late))
        }
        Some(Ok(Confirmation::NotRequested)) => (Answer::Missing(None), Some(Failure::Unconfirmed)),
        Some(Err(error)) => (Answer::Missing(None), Some(Failure::Ended(error))),
        None => (Answer::Missing(None), Some(Failure::Late)),
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
