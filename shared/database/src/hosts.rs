//! Several PostgreSQL servers in one URL, of which one accepts writes:
//! `postgres://orders@pg1:5432,pg2/orders`, as libpq has it with `target_session_attrs=read-write`.
//!
//! sqlx knows one host. So a pool for several has a watch beside it, which finds the one that accepts
//! writes and tells the pool to connect there. It looks again twice a second: a failover needs no
//! restart. The pool itself refuses a server that accepts none, at each connect and at each use, for
//! the watch may be late.

use std::fmt;
use std::time::Duration;

use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection, PgPool};
use sea_orm::sqlx::{self, ConnectOptions, Executor, Row};
use tokio::time::timeout;

use crate::InvalidDatabaseUrl;
use crate::connect::PING_TIMEOUT;

/// How often the watch looks. One look is one round trip on a connection of its own.
const INTERVAL: Duration = Duration::from_millis(500);

/// One URL for each host of the list, with everything else the same.
pub(crate) fn each_alone(url: &str) -> Result<Vec<String>, InvalidDatabaseUrl> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Ok(vec![url.to_owned()]);
    };
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    let hosts: Vec<_> = hosts.split(',').collect();
    let (path, wanted) = without_session_attrs(rest);
    if hosts.len() > 1 {
        if hosts.iter().any(|host| host.is_empty() || host.starts_with(':')) {
            return Err(InvalidDatabaseUrl::Hosts("a host in the list is empty"));
        }
        let twice = |(index, host): (usize, &&str)| hosts.iter().skip(index + 1).any(|h| h == host);
        if hosts.iter().enumerate().any(twice) {
            return Err(InvalidDatabaseUrl::Hosts("one host is listed twice"));
        }
        if !matches!(wanted, None | Some("read-write" | "primary")) {
            let reason = "with several hosts, target_session_attrs is read-write or primary";
            return Err(InvalidDatabaseUrl::Hosts(reason));
        }
    }
    Ok(hosts.iter().map(|host| format!("{scheme}://{user}{host}{path}")).collect())
}

/// sqlx does not know this parameter. With one host there is nothing to choose.
fn without_session_attrs(rest: &str) -> (String, Option<&str>) {
    let Some((path, query)) = rest.split_once('?') else { return (rest.to_owned(), None) };
    let name = "target_session_attrs=";
    let wanted = query.split('&').find_map(|pair| pair.strip_prefix(name));
    let others: Vec<_> = query.split('&').filter(|pair| !pair.starts_with(name)).collect();
    match others.is_empty() {
        true => (path.to_owned(), wanted),
        false => (format!("{path}?{}", others.join("&")), wanted),
    }
}

/// Whether the server takes writes. A standby, or a primary that was demoted, is in recovery.
pub(crate) async fn accepts_writes(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let row = connection.fetch_one("SELECT pg_is_in_recovery()").await?;
    row.try_get::<bool, _>(0).map(|in_recovery| !in_recovery)
}

/// Has `pool` connect to whichever host accepts writes, until the pool is closed.
pub(crate) fn follow(pool: &PgPool, hosts: Vec<PgConnectOptions>) {
    let pool = pool.clone();
    let mut closed = pool.close_event();
    tokio::spawn(async move {
        let _ = closed.do_until(watch(&pool, &hosts)).await;
    });
}

async fn watch(pool: &PgPool, hosts: &[PgConnectOptions]) {
    let mut primary: Option<PgConnection> = None;
    let mut outage = false;
    loop {
        let works = match &mut primary {
            Some(connection) => {
                matches!(timeout(PING_TIMEOUT, accepts_writes(connection)).await, Ok(Ok(true)))
            }
            None => false,
        };
        if !works {
            match find(hosts).await {
                Ok((host, connection)) => {
                    pool.set_connect_options(host.clone());
                    primary = Some(connection);
                    if std::mem::take(&mut outage) {
                        tracing::info!("{} accepts writes again", address(host));
                    }
                }
                Err(error) => {
                    primary = None;
                    if !std::mem::replace(&mut outage, true) {
                        tracing::warn!("{error}");
                    }
                }
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The first host of the list that accepts writes.
async fn find(hosts: &[PgConnectOptions]) -> Result<(&PgConnectOptions, PgConnection), NoPrimary> {
    let mut reasons = Vec::new();
    for host in hosts {
        let look = async {
            let mut connection = host.connect().await?;
            accepts_writes(&mut connection).await.map(|writes| (writes, connection))
        };
        let reason = match timeout(PING_TIMEOUT, look).await {
            Ok(Ok((true, connection))) => return Ok((host, connection)),
            Ok(Ok((false, _))) => "is a standby".to_owned(),
            Ok(Err(error)) => format!("can't be used ({error})").replace('\n', " "),
            Err(_) => format!("gave no answer within {} s", PING_TIMEOUT.as_secs_f32()),
        };
        reasons.push(format!("{} {reason}", address(host)));
    }
    Err(NoPrimary(reasons))
}

fn address(host: &PgConnectOptions) -> String {
    format!("{}:{}", host.get_host(), host.get_port())
}

/// No host accepts writes; each with its reason.
#[derive(Debug)]
struct NoPrimary(Vec<String>);

impl fmt::Display for NoPrimary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no PostgreSQL server accepts writes: {}", self.0.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn each_host_of_a_list_gets_everything_else_of_the_url() {
        let url = "postgres://a,b:c%2Cd@one:1,two,[::1]:3/db?x=1&target_session_attrs=read-write";
        let expected = ["one:1", "two", "[::1]:3"].map(|host| {
            let user = "a,b:c%2Cd";
            format!("postgres://{user}@{host}/db?x=1")
        });
        assert_eq!(each_alone(url).expect("valid"), expected);
        for alone in ["postgres://one/db", "postgres:///db", "postgres://one/a,b"] {
            assert_eq!(each_alone(alone).expect("valid"), [alone]);
        }
        let one = each_alone("postgres://one/db?target_session_attrs=standby").expect("ignored");
        assert_eq!(one, ["postgres://one/db"]);
    }

    #[test]
    fn a_list_with_a_hole_or_a_double_or_for_standbys_is_refused() {
        for (list, says) in [
            ("one,,two/db", "is empty"),
            ("one,/db", "is empty"),
            (",one/db", "is empty"),
            ("one,:5432/db", "is empty"),
            ("one,two,one/db", "listed twice"),
            ("one,two/db?target_session_attrs=any", "target_session_attrs is read-write"),
        ] {
            let error = each_alone(&format!("postgres://shop:s3cret@{list}")).expect_err(list);
            let error = error.to_string();
            assert!(error.contains(says) && !error.contains("s3cret"), "{error}");
        }
    }

    #[tokio::test]
    async fn when_no_host_answers_one_line_names_each_without_a_password() {
        let hosts = ["127.0.0.1:1", "127.0.0.1:2"].map(|host| {
            let url = format!("postgres://shop:s3cret@{host}/db");
            PgConnectOptions::from_str(&url).expect("a URL")
        });
        let error = find(&hosts).await.expect_err("nobody listens there").to_string();
        let start = "no PostgreSQL server accepts writes: 127.0.0.1:1 can't be used (";
        assert!(error.starts_with(start) && error.contains("127.0.0.1:2 can't"), "{error}");
        assert!(!error.contains("s3cret") && !error.contains('\n'), "{error}");
    }
}
