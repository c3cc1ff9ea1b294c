//! A child process: this binary again.

use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::process::{ChildStdin, Command};

use crate::shop::Part;

/// A child process and the pipe that keeps it running. The pipe is held apart from the process,
/// whose `wait` would close it.
pub(super) struct Child {
    process: tokio::process::Child,
    stdin: Option<ChildStdin>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    First,
    Again,
}

impl Child {
    /// In a process group of its own: Ctrl-C in the terminal reaches only us, and we stop the others in
    /// an orderly way. Its standard input is a pipe from us: when we die, however that happens, the pipe
    /// ends, and so does the child. (The system wakes a frozen one for it.)
    pub(super) fn spawn(part: &Part, run: Run) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg(part.subcommand)
            .envs(part.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .kill_on_drop(true);
        if run == Run::Again {
            command.env_remove("CRASH_AT"); // armed for the first run only: else it would crash for ever
        }
        // Ours, not theirs: they would read it too.
        command.env_remove("SHOP_DATA").env_remove("SHOP_PORT_BASE");
        // They are told the secrets themselves.
        for file in ["DATABASE_PASSWORD_FILE", "BROKER_PASSWORD_FILE", "ADMIN_TOKEN_FILE"] {
            command.env_remove(file);
        }
        #[cfg(unix)]
        command.process_group(0);
        let mut process = command.spawn()?;
        let stdin = process.stdin.take();
        Ok(Self { process, stdin })
    }

    /// `None` once it has ended.
    pub(super) fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.process.wait().await
    }

    /// Ends it, whatever it does. A frozen one too.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.process.start_kill()
    }

    /// Closing its input asks it to stop. It must not be frozen to notice, whoever froze it.
    pub(super) fn ask_to_stop(&mut self) {
        self.stdin = None;
        if let Err(error) = self.thaw() {
            tracing::debug!(%error, "a child that is told to stop");
        }
    }

    #[cfg(unix)]
    pub(super) fn freeze(&self) -> io::Result<()> {
        self.signal(rustix::process::Signal::STOP)
    }

    #[cfg(unix)]
    pub(super) fn thaw(&self) -> io::Result<()> {
        self.signal(rustix::process::Signal::CONT)
    }

    /// Until we have waited for it, no other process can get its id.
    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) -> io::Result<()> {
        let pid = self.pid().and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.and_then(rustix::process::Pid::from_raw);
        let gone = || io::Error::new(io::ErrorKind::NotFound, "it has ended");
        Ok(rustix::process::kill_process(pid.ok_or_else(gone)?, signal)?)
    }

    #[cfg(not(unix))]
    pub(super) fn freeze(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(not(unix))]
    pub(super) fn thaw(&self) -> io::Result<()> {
        Ok(()) // nothing freezes it
    }
}
