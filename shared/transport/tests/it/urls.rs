//! A broker's URL decides the transport, and its password never shows.

use transport::{TransportError, TransportOptions, connect};

use crate::broker::orders;

#[test]
fn a_url_that_cannot_be_used_is_refused_in_one_line_without_its_password() {
    for url in [
        "",
        "nonsense",
        "s3cret",
        "://",
        "://shop:s3cret@broker",
        "http://shop:s3cret@broker/shop",
        "amqps://shop:s3cret@broker/shop",
        "AMQP://shop:s3cret@broker/shop",
        "amqps://shop:a/s3cret@broker/shop",
        "mysql://shop@broker/shop?password=s3cret",
        "mysql://shop@broker/shop?ssl=no&password=s3cret&user=shop",
        "amqp:shop:s3cret@broker",
        "shop:s3cret@broker",
        "amqp://shop:s3cret@broker:port/shop",
        "amqp://shop:s3cret@broker:99999/shop",
        "amqp://shop:a#s3cret@broker/shop",
        "amqp://shop:s3cret@broker?heartbeat=often",
        "amqp://shop:s3cret@one,,two/shop",
        "amqp://shop:s3cret@one,two,/shop",
        "amqp://shop:s3cret@,one/shop",
        "amqp://shop:s3cret@one,:5673/shop",
        "amqp://shop:s3cret@one,one/shop",
        "amqp://shop:s3cret@one,two,ONE:5672/shop",
        "amqp://shop:s3cret@[::1],[::1]:5672/shop",
        "amqp://shop:s3cret@one,two:port/shop",
        "amqp://shop:x,s3cret,s3cret/x@one/shop",
        "amqp://shop:s3cret@bro\nker:port/shop",
        "postgres://shop:s3cret@broker:port/shop",
        "postgres://shop@broker:port/shop?password=s3cret",
        "sqlite://shop.db?mode=nonsense",
    ] {
        let Err(error) = connect(url, orders(), TransportOptions::default()) else {
            panic!("{url} was taken");
        };
        assert!(matches!(error, TransportError::InvalidUrl { .. }), "{error:?}");
        for text in [error.to_string(), error.one_line(), format!("{error:?}")] {
            assert!(!text.contains("s3cret"), "{url}: {text}");
        }
        assert!(!error.one_line().contains('\n'), "{url:?}: {error}");
    }
}

#[tokio::test]
async fn a_url_that_can_be_used_is_taken_before_anything_answers_there() {
    for url in [
        "amqp://shop:s3cret@broker.invalid/shop",
        "amqp://broker.invalid",
        "amqp://shop:s3cret@one.invalid,two.invalid:5673,[fd00::7],[fd00::7]:5673/shop?heartbeat=5",
        "postgres://shop:s3cret@broker.invalid/shop",
        "postgresql://shop:s3cret@broker.invalid:5433/shop",
        "sqlite://somewhere/broker.db",
    ] {
        let taken = connect(url, orders(), TransportOptions::default());
        assert!(taken.is_ok(), "{:?}", taken.err());
    }
}
