//! The nodes of one broker: `amqp://user:password@rabbit1,rabbit2:5673,[fd00::7]/vhost`.

use std::sync::atomic::{AtomicUsize, Ordering};

use lapin::uri::{AMQPScheme, AMQPUri};

use super::session::{Deadline, Session};
use crate::{NodeFailure, TransportError, redact};

/// Seconds of silence after which a peer counts as half dead; it is given up after twice that.
/// The server's own default is 60.
const HEARTBEAT: u16 = 10;

/// The nodes of one broker. Any of them will do for a session.
pub(super) struct Nodes {
    nodes: Vec<Node>,
    /// Where the next session starts.
    next: AtomicUsize,
}

/// One of them.
struct Node {
    uri: AMQPUri,
    /// Its own URL, without the password: for messages.
    url: String,
}

impl Node {
    /// How messages name it in a list.
    fn address(&self) -> String {
        let authority = &self.uri.authority;
        match authority.host.contains(':') {
            true => format!("[{}]:{}", authority.host, authority.port),
            false => format!("{}:{}", authority.host, authority.port),
        }
    }
}

impl Nodes {
    /// Reads the URL, and refuses what lapin would silently read as something else.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let nodes = each_alone(url)?;
        let nodes = nodes.iter().map(|url| Ok(Node { uri: parse(url)?, url: redact(url) }));
        let nodes = nodes.collect::<Result<Vec<_>, String>>()?;
        for (index, node) in nodes.iter().enumerate() {
            // Not named: what looks like a host may be a part of an unescaped password.
            let twice = |other: &Node| other.address().eq_ignore_ascii_case(&node.address());
            if nodes.iter().skip(index + 1).any(twice) {
                return Err("one host is listed twice".to_owned());
            }
        }
        // Many processes with the same URL should not all crowd on its first node.
        let next = AtomicUsize::new(rand::random_range(0..nodes.len()));
        Ok(Self { nodes, next })
    }

    /// Opens a connection to the first node that lets us in.
    ///
    /// Each gets an equal part of the time that is left: one that swallows everything must not
    /// use up the time of the others.
    pub(super) async fn connect(
        &self,
        name: &str,
        deadline: Deadline,
    ) -> Result<Session, TransportError> {
        if let [node] = &*self.nodes {
            return Session::open(&node.uri, &node.url, name, deadline).await;
        }
        let mut failures = Vec::new();
        for node in self.in_turn() {
            let part = deadline.part(self.nodes.len() - failures.len());
            match Session::open(&node.uri, &node.url, name, part).await {
                Ok(session) => return Ok(session),
                Err(error) => failures.push(NodeFailure { node: node.address(), error }),
            }
        }
        Err(TransportError::NoNode { failures })
    }

    /// All nodes, beginning with another one than the last time: so the sessions of a process are
    /// spread, and a node that lets us in but can do no more (it lacks its quorum) is passed over by
    /// the next try.
    fn in_turn(&self) -> impl Iterator<Item = &Node> {
        let start = self.next.fetch_add(1, Ordering::Relaxed) % self.nodes.len();
        let (wrapped, from_start) = self.nodes.split_at(start);
        from_start.iter().chain(wrapped)
    }
}

/// One URL for each host of the list, with everything else the same.
fn each_alone(url: &str) -> Result<Vec<String>, String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Ok(vec![url.to_owned()]);
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    let hosts: Vec<_> = hosts.split(',').collect();
    let is_empty = |host: &&str| host.is_empty() || host.starts_with(':');
    if hosts.len() > 1 && hosts.iter().any(is_empty) {
        return Err("a host in the list is empty".to_owned());
    }
    Ok(hosts.iter().map(|host| format!("{scheme}://{user}{host}{path}")).collect())
}

fn parse(url: &str) -> Result<AMQPUri, String> {
    let mut uri: AMQPUri = url.parse().map_err(|reason: String| {
        // Some of the library's texts quote the URL, and with it the password.
        if reason.contains(url) { "not a URL".to_owned() } else { reason }
    })?;
    if uri.scheme != AMQPScheme::AMQP {
        // Built without TLS, lapin would connect in plain text and send the password.
        return Err("only amqp:// is supported".to_owned());
    }
    if let Some(address) = ipv6_host(url) {
        // lapin only keeps names, and would connect to localhost instead.
        uri.authority.host = address.to_owned();
    }
    uri.query.heartbeat.get_or_insert(HEARTBEAT);
    Ok(uri)
}

fn ipv6_host(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.strip_prefix('[')?.split_once(']').map(|(address, _)| address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_with_a_heartbeat_of_its_own() {
        let uri = parse("amqp://shop:s%40cret@broker:5673/shop").expect("valid");
        assert_eq!(uri.authority.host, "broker");
        assert_eq!(uri.authority.port, 5673);
        assert_eq!(uri.authority.userinfo.password, "s@cret");
        assert_eq!(uri.vhost, "shop");
        assert_eq!(uri.query.heartbeat, Some(10));
        assert_eq!(parse("amqp://broker").expect("valid").vhost, "/");
        let own = parse("amqp://broker?heartbeat=3").expect("valid");
        assert_eq!(own.query.heartbeat, Some(3));
    }

    #[test]
    fn an_ipv6_address_is_not_replaced_by_localhost() {
        let uri = parse("amqp://shop:secret@[fd00::7]:5673/shop").expect("valid");
        assert_eq!((uri.authority.host.as_str(), uri.authority.port), ("fd00::7", 5673));
    }

    #[test]
    fn each_host_of_a_list_gets_everything_else_of_the_url() {
        let url = "amqp://shop:a,b%40c@rabbit1:5673,rabbit2,[::1]:5674/shop?heartbeat=5";
        let nodes = Nodes::parse(url).expect("valid").nodes;
        let addresses: Vec<_> = nodes.iter().map(Node::address).collect();
        assert_eq!(addresses, ["rabbit1:5673", "rabbit2:5672", "[::1]:5674"]);
        for node in nodes {
            let user = node.uri.authority.userinfo;
            assert_eq!((user.username.as_str(), user.password.as_str()), ("shop", "a,b@c"));
            assert_eq!((node.uri.vhost.as_str(), node.uri.query.heartbeat), ("shop", Some(5)));
            assert!(!node.url.contains("a,b"), "{}", node.url);
        }
    }

    #[test]
    fn each_session_tries_every_node_and_begins_with_another_one_than_the_last() {
        let nodes = Nodes::parse("amqp://a,b,c").expect("valid");
        let turn = || nodes.in_turn().map(|node| &*node.uri.authority.host).collect::<String>();
        let mut turns = [turn(), turn(), turn()];
        turns.sort_unstable();
        assert_eq!(turns, ["abc", "bca", "cab"]);
    }
}
