use std::time::{Duration, Instant};

/// Far above what anything takes on a slow machine. A test that waits this long has failed.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until `condition` holds, and panics with `what` when it never does.
pub async fn eventually<F>(what: &str, mut condition: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    eventually_some(what, || {
        let holds = condition();
        async { holds.await.then_some(()) }
    })
    .await;
}

/// Waits until `look` finds something, and panics with `what` when it never does.
pub async fn eventually_some<T, F>(what: &str, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let started = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(started.elapsed() < LIMIT, "waited {LIMIT:?} in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
