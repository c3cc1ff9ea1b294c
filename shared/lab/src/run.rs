//! One experiment, from empty databases to the verdict.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use contracts::ORDER_EVENTS_QUEUE;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::crew::{Crew, Environment, Roll};
use crate::gate::Gate;
use crate::recorder::Recorder;
use crate::scenario::{Await, Binding, Step as Do, Switch, WaitsFor};
use crate::snapshot::Tables;
use crate::text_gateway::{self, Texts};
use crate::trace::{State, Step, Trace};
use crate::verdict::End;
use crate::watch::Watch;
use crate::{Experiment, Pace, Site, tamper};

/// Far above what any run takes: something outside of the experiment hangs.
const LONGEST: Duration = Duration::from_secs(90);

/// Makes experiments.
#[derive(Debug, Clone)]
pub struct Lab {
    /// The binary that has all programs in it, as `<program> experiment <service>`.
    pub program: PathBuf,
    /// How patient it is.
    pub pace: Pace,
}

/// A run under way.
struct Run<'a> {
    lab: &'a Lab,
    site: &'a dyn Site,
    experiment: &'a Experiment,
    gate: Arc<Gate>,
    crew: Arc<Crew>,
    client: Client,
    recorder: Arc<Recorder>,
    unbound: bool,
    /// Gate and text gateway.
    _listening: [JoinSet<()>; 2],
}

impl Lab {
    /// Runs an experiment.
    ///
    /// # Errors
    /// The site or the processes failed in a way that is no part of the experiment.
    pub async fn run(&self, site: &dyn Site, experiment: &Experiment) -> anyhow::Result<Trace> {
        let mut run = Run::prepare(self, site, experiment).await?;
        let ended = tokio::time::timeout(LONGEST, run.carry_out()).await;
        run.crew.kill_all().await;
        ended.context("the run came to no end")?
    }

    fn environment(
        &self,
        site: &dyn Site,
        experiment: &Experiment,
        gate: String,
        texts: String,
    ) -> Environment {
        // Short only where a run waits for its end: on a busy machine it would end by itself.
        let wait = |what, short: Duration| match experiment.failure.waits_for.contains(&what) {
            true => format!("{}ms", short.as_millis()),
            false => "10s".to_owned(),
        };
        let pairs = |pairs: &[(&str, String)]| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect::<Vec<_>>()
        };
        let common = pairs(&[
            ("BROKER_URL", site.broker_url().to_owned()),
            ("HTTP_ADDR", "127.0.0.1:0".to_owned()),
            ("STOP_WITH_STDIN", "true".to_owned()),
            ("RUST_LOG", "info,lapin=off,sqlx=off".to_owned()),
            ("BROKER_VISIBILITY_TIMEOUT", wait(WaitsFor::Visibility, self.pace.visibility)),
            ("RELAY_LEASE", wait(WaitsFor::Lease, self.pace.lease)),
            ("RELAY_POLL_INTERVAL", "50ms".to_owned()),
            ("RELAY_UNROUTABLE_INTERVAL", "100ms".to_owned()),
            ("CONSUMER_RETRY_DELAY", "50ms".to_owned()),
            ("LAB_GATE", gate),
            ("TEXT_MESSAGE_URL", texts),
        ]);
        let mut for_experiment = pairs(&[("MISTAKES", experiment.mistakes.to_string())]);
        for_experiment.extend(experiment.failure.settings.clone());
        Environment {
            orders_url: site.orders_url().to_owned(),
            inventory_url: site.inventory_url().to_owned(),
            common,
            experiment: for_experiment,
        }
    }
}

impl<'a> Run<'a> {
    async fn prepare(
        lab: &'a Lab,
        site: &'a dyn Site,
        experiment: &'a Experiment,
    ) -> anyhow::Result<Self> {
        let (roll, texts, gate) = (Roll::default(), Texts::default(), Gate::new());
        let recorder = Arc::new(Recorder::new(Tables::new(site)?, roll.clone(), texts.clone()));
        let (texts_url, gateway) =
            text_gateway::open(&texts, &Arc::new(OnceLock::from(recorder.clone()))).await?;
        let (gate_address, listener) = gate.listen().await?;
        let environment = lab.environment(site, experiment, gate_address, texts_url);
        let crew = Arc::new(Crew::new(lab.program.clone(), environment, roll));
        let client = Client::new(crew.clone(), recorder.clone());
        let listening = [gateway, gate.open(listener, &recorder, &crew)];
        Ok(Self {
            lab,
            site,
            experiment,
            gate,
            crew,
            client,
            recorder,
            unbound: false,
            _listening: listening,
        })
    }

    async fn carry_out(&mut self) -> anyhow::Result<Trace> {
        self.start_all().await?;
        let mut happened = true;
        for step in &self.experiment.failure.steps {
            if !self.carry_out_step(step).await? {
                happened = false;
                break;
            }
        }
        self.heal().await?;
        let drained = self.drain().await;
        self.end(happened, drained).await
    }

    async fn start_all(&self) -> anyhow::Result<()> {
        let starts = &self.experiment.failure.start;
        let mut starting = JoinSet::new();
        for process in starts.clone() {
            let crew = self.crew.clone();
            starting.spawn(async move { crew.start(&process).await });
        }
        while let Some(started) = starting.join_next().await {
            started??;
        }
        self.note("lab", "ready").await;
        Ok(())
    }

    /// False: what it waits for will not happen.
    async fn carry_out_step(&mut self, step: &Do) -> anyhow::Result<bool> {
        match step {
            Do::Place(order) => self.client.ask(order, "place").await,
            Do::Retry(order) => self.client.ask(order, "retry").await,
            Do::GiveUp(order) => self.client.give_up(order).await,
            Do::Cancel(order) => self.client.cancel(order).await,
            Do::Arm(arm) => self.gate.arm(arm, &self.experiment.mistakes),
            Do::Await(what) => return Ok(self.happens(what).await),
            Do::Release => self.gate.release(),
            Do::Start(process) => self.start(process).await?,
            Do::Restart(process) => {
                self.crew.kill(process).await;
                self.gate.at_work.forget(process);
                self.note(process, "killed").await;
                self.start(process).await?;
            }
            Do::Broker(Switch::Stop) => self.stop_broker().await?,
            Do::Broker(Switch::Start) => self.start_broker().await?,
            Do::Queue(Binding::Unbind) => {
                self.site.unbind().await?;
                self.unbound = true;
                self.note("broker", "unbound").await;
            }
            Do::Queue(Binding::Bind) => self.bind().await?,
            Do::Copy => {
                if tamper::copy(self.site.lab_broker_url()).await? == 0 {
                    return Ok(false);
                }
                self.note("lab", "copied").await;
            }
            Do::Reverse => {
                if tamper::reverse(self.site.lab_broker_url()).await? < 2 {
                    return Ok(false);
                }
                self.note("lab", "reordered").await;
            }
            Do::Poison => {
                tamper::poison(self.site.lab_broker_url()).await?;
                self.note("lab", "poisoned").await;
            }
        }
        Ok(true)
    }

    /// False: it was to happen at an armed point, and nobody comes there. What else is waited for may fail to
    /// come because of a mistake, and then the experiment goes on without.
    async fn happens(&self, what: &Await) -> bool {
        let mut watch = Watch::new(self.recorder.look().await);
        loop {
            let state = &watch.state;
            let there = match what {
                Await::Failure => self.gate.was_hit(),
                Await::Answer(order) => self.client.is_answered(order),
                Await::Queued(count) => queued(state) >= *count,
                Await::Effect(order) => is_reserved(state, order),
            };
            if there {
                if matches!(what, Await::Failure) {
                    self.gate.disarm();
                }
                return true;
            }
            watch.look(&self.recorder).await;
            let (silence, pace) = (watch.silence, self.lab.pace);
            let ended = self.is_idle(&watch.state) && Pace::is(silence, pace.quiet * 2);
            if ended || Pace::is(silence, pace.stuck) {
                return !matches!(what, Await::Failure);
            }
        }
    }

    /// Everything works again, and the client asks again for what it did not get.
    async fn heal(&mut self) -> anyhow::Result<()> {
        self.gate.disarm();
        self.gate.release();
        if self.recorder.tables().broker_stopped.load(Ordering::Relaxed) {
            self.start_broker().await?;
        }
        self.bind().await?;
        for process in self.crew.start_missing(&self.experiment.failure.start).await? {
            self.note(&process, "started").await;
        }
        self.note("lab", "healed").await;
        if self.experiment.failure.client_retries {
            self.wait_for_answers().await;
            for order in self.client.unanswered() {
                self.client.ask(&order, "retry").await;
            }
        }
        Ok(())
    }

    async fn wait_for_answers(&self) {
        let mut watch = Watch::new(self.recorder.look().await);
        while self.client.waits() && !Pace::is(watch.silence, self.lab.pace.stuck) {
            watch.look(&self.recorder).await;
        }
    }

    /// Waits until nothing waits any more; false when something does, and nobody works on it.
    async fn drain(&self) -> bool {
        let mut watch = Watch::new(self.recorder.look().await);
        loop {
            watch.look(&self.recorder).await;
            if self.is_idle(&watch.state) && Pace::is(watch.silence, self.lab.pace.quiet) {
                return true;
            }
            if Pace::is(watch.silence, self.lab.pace.stuck) {
                return false;
            }
        }
    }

    fn is_idle(&self, state: &State) -> bool {
        let mut outboxes = state.orders_outbox.iter().chain(&state.inventory_outbox);
        let pending = outboxes.any(|row| row.status == "Pending");
        let waiting = |queue: &crate::trace::Queue| {
            !queue.queue.ends_with(".dead") && queue.ready + queue.unacked.unwrap_or(0) > 0
        };
        !pending
            && !state.queues.iter().any(waiting)
            && !self.client.waits()
            && !self.gate.holds_somebody()
            && self.gate.at_work.rests()
            && !self.recorder.tries_within(self.lab.pace.quiet)
    }

    async fn end(&self, happened: bool, drained: bool) -> anyhow::Result<Trace> {
        let state = self.recorder.look().await;
        let end = End { state: &state, wanted: self.client.wanted(), happened, drained };
        let (verdict, because) = end.verdict();
        let equation = end.equation();
        self.note("lab", "verdict").await;
        let (steps, states, milliseconds) = self.recorder.take_parts().await;
        Ok(Trace {
            format: 1,
            mistakes: self.experiment.mistakes.clone(),
            failure: self.experiment.failure.id.clone(),
            backing: self.site.backing().to_owned(),
            verdict,
            because,
            equation,
            milliseconds,
            steps,
            states,
        })
    }

    async fn start(&self, process: &str) -> anyhow::Result<()> {
        if !self.crew.start_missing(&[process.to_owned()]).await?.is_empty() {
            self.note(process, "started").await;
        }
        Ok(())
    }

    async fn stop_broker(&self) -> anyhow::Result<()> {
        self.recorder.tables().broker_stopped.store(true, Ordering::Relaxed);
        self.site.stop_broker().await?;
        self.note("broker", "stopped").await;
        Ok(())
    }

    async fn start_broker(&self) -> anyhow::Result<()> {
        self.site.start_broker().await?;
        self.recorder.tables().broker_stopped.store(false, Ordering::Relaxed);
        self.note("broker", "started").await;
        Ok(())
    }

    async fn bind(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.unbound) {
            self.site.bind().await?;
            self.note("broker", "bound").await;
        }
        Ok(())
    }

    async fn note(&self, actor: &str, kind: &str) {
        let step = Step { actor: actor.to_owned(), ..Step::default() };
        self.recorder.record(kind, step).await;
    }
}

fn queued(state: &State) -> u64 {
    let queue = state.queues.iter().find(|queue| queue.queue == ORDER_EVENTS_QUEUE);
    queue.map_or(0, |queue| queue.ready)
}

fn is_reserved(state: &State, order: &str) -> bool {
    state.reservations.iter().any(|it| it.order == order && it.status == "Reserved")
}
