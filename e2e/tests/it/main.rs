//! Behaviour of the whole shop, and that its documents tell the truth. Each test runs on SQLite with the SQL queue, and on PostgreSQL with RabbitMQ.

mod admin;
mod cancelling;
mod crashes;
mod doctor;
mod documents;
mod embedded;
mod headers;
mod healthcheck;
mod lab;
mod many_relays;
mod messages;
mod metrics;
mod outages;
mod page_alone;
mod placing;
mod relays;
mod requests;
mod retention;
