use std::collections::BTreeMap;

use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};

/// A client of one service.
#[derive(Debug, Clone)]
pub struct Api {
    base: String,
    client: Client,
}

/// The body of an order of `(sku, quantity)` lines.
#[must_use]
pub fn order_of(lines: &[(&str, u32)]) -> Value {
    let lines: Vec<_> =
        lines.iter().map(|(sku, quantity)| json!({"sku": sku, "quantity": quantity})).collect();
    json!({"customerId": "c-42", "lines": lines})
}

impl Api {
    /// A client of the service at `base`.
    #[must_use]
    pub fn new(base: &str) -> Self {
        Self { base: base.to_owned(), client: Client::new() }
    }

    /// GET, whatever the answer.
    ///
    /// # Panics
    /// There was no answer.
    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        read(self.client.get(format!("{}{path}", self.base)).send().await.expect("an answer")).await
    }

    /// POST of a JSON body, whatever the answer; an error when there is none.
    ///
    /// # Errors
    /// The service did not answer.
    pub async fn try_post(
        &self,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Result<Response, reqwest::Error> {
        let mut request = self.client.post(format!("{}{path}", self.base)).json(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await
    }

    /// POST of a JSON body.
    ///
    /// # Panics
    /// There was no answer.
    pub async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        read(self.try_post(path, body, &[]).await.expect("an answer")).await
    }

    /// What `/metrics` says: each line's name (with labels, if there are any) and value.
    ///
    /// # Panics
    /// It does not answer, or not in the format of OpenMetrics.
    pub async fn metrics(&self) -> BTreeMap<String, f64> {
        let answer = self.request(reqwest::Method::GET, "/metrics").send().await.expect("one");
        assert_eq!(answer.status(), StatusCode::OK);
        let kind = answer.headers()["content-type"].to_str().expect("text").to_owned();
        assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
        let text = answer.text().await.expect("text");
        let lines = text.strip_suffix("# EOF\n").expect("an end").lines();
        let samples = lines.filter(|line| !line.starts_with('#'));
        let sample = |line: &str| {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            (name.to_owned(), value.parse().expect("a number"))
        };
        samples.map(sample).collect()
    }

    /// What the page at this address shows now: the first message of its stream.
    ///
    /// # Panics
    /// The page does not answer.
    pub async fn snapshot(&self) -> Value {
        let request = self.request(reqwest::Method::GET, "/api/live");
        let mut answer = request.send().await.expect("the page answers");
        let mut text = Vec::new();
        while !text.ends_with(b"\n\n") {
            text.extend(answer.chunk().await.expect("a chunk").expect("more"));
        }
        let text = String::from_utf8(text).expect("UTF-8");
        serde_json::from_str(text.trim_start_matches("data: ").trim()).expect("JSON")
    }

    /// A request of one's own making.
    pub fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }
}

async fn read(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    (status, response.json().await.unwrap_or(Value::Null))
}
