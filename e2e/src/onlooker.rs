use sea_orm::{ConnectionTrait, DatabaseConnection};
use serde_json::json;
use test_kit::{Backing, Servers, Storage};
use uuid::Uuid;

/// A user of databases and broker who may look, and nothing more. Files have no users.
pub struct Onlooker {
    name: Option<String>,
}

const PASSWORD: &str = "look";

impl Onlooker {
    pub(crate) async fn create(
        storage: &Storage,
        databases: [&DatabaseConnection; 2],
        broker_url: &str,
    ) -> anyhow::Result<Self> {
        if storage.backing == Backing::Embedded {
            return Ok(Self { name: None });
        }
        let name = format!("page_{}", Uuid::now_v7().simple());
        for (index, db) in databases.into_iter().enumerate() {
            if index == 0 {
                // Users belong to the server, not to one of its databases.
                let role = format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'");
                db.execute_unprepared(&role).await?;
            }
            let grant = format!("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}");
            db.execute_unprepared(&grant).await?;
        }
        let api = Servers::from_environment()?.rabbitmq_api;
        let vhost = broker_url.rsplit('/').next().unwrap_or_default();
        let user = json!({"password": PASSWORD, "tags": ""});
        put(&format!("{api}/api/users/{name}"), &user).await?;
        let nothing = json!({"configure": "^$", "write": "^$", "read": "^$"});
        put(&format!("{api}/api/permissions/{vhost}/{name}"), &nothing).await?;
        Ok(Self { name: Some(name) })
    }

    /// The same place as `url`, by this user.
    ///
    /// # Panics
    /// The URL names no user.
    #[must_use]
    pub fn by(&self, url: &str) -> String {
        let Some(name) = &self.name else { return url.to_owned() };
        let (scheme, rest) = url.split_once("://").expect("a URL");
        let (_, place) = rest.split_once('@').expect("a user in the URL");
        format!("{scheme}://{name}:{PASSWORD}@{place}")
    }
}

async fn put(url: &str, body: &serde_json::Value) -> anyhow::Result<()> {
    let answer = reqwest::Client::new().put(url).json(body).send().await?;
    anyhow::ensure!(answer.status().is_success(), "the broker's API: {answer:?}");
    Ok(())
}
