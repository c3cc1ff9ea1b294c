//! Named places at which a process can be made to abort, as by `kill -9`, or to wait.
//!
//! `CRASH_AT=C8` aborts at the first pass of the point C8, `CRASH_AT=C8:3` at the third. With
//! `LAB_GATE=address` the process reports each pass to an experimenter and waits for the word to go
//! on. Without the feature `lab` the points, and the code that reads the variables, do
//! not exist.
//!
//! The idea of fail points that a person can operate is that of FreeBSD's `fail(9)`.
//!
//! # The gate
//! For each pass the process opens a connection to `LAB_GATE` and writes one line of JSON: its name
//! (`LAB_PROCESS`), the point, the source file and the line. It goes on when a line comes back, or
//! when nobody listens. The experimenter may look at every table meanwhile, keep the process waiting,
//! or kill it: so a failure happens exactly there, and no test ever has to sleep.

/// Marks a place where a crash is interesting. Write what it would leave behind in a comment.
///
/// A place in a library may have several names, one for each program that runs through it.
#[macro_export]
macro_rules! crash_point {
    ($($name:literal),+) => {
        $crate::pass(&[$($name),+], file!(), line!())
    };
}

/// Does nothing: this build has no crash points.
#[cfg(not(feature = "lab"))]
#[inline(always)]
pub fn pass(_names: &[&str], _file: &str, _line: u32) {}

#[cfg(feature = "lab")]
pub use lab::pass;

#[cfg(feature = "lab")]
mod lab {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpStream;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::runtime::{Handle, RuntimeFlavor};

    struct Armed {
        name: String,
        passes_left: AtomicU32,
    }

    static ARMED: LazyLock<Option<Armed>> = LazyLock::new(|| {
        let setting = std::env::var("CRASH_AT").ok()?;
        let (name, pass) = setting.split_once(':').unwrap_or((&setting, "1"));
        Some(Armed {
            name: name.to_owned(),
            passes_left: AtomicU32::new(pass.parse().unwrap_or(1)),
        })
    });

    static GATE: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("LAB_GATE").ok());

    /// Which process this is, in the words of the experimenter.
    static PROCESS: LazyLock<String> =
        LazyLock::new(|| std::env::var("LAB_PROCESS").unwrap_or_default());

    /// Aborts when this is the point and the pass that `CRASH_AT` names; otherwise reports to the gate.
    pub fn pass(names: &[&str], file: &str, line: u32) {
        for name in names {
            if let Some(armed) = ARMED.as_ref().filter(|armed| armed.name == *name)
                && armed.passes_left.fetch_sub(1, Ordering::SeqCst) == 1
            {
                eprintln!("crash point {name}: aborting");
                std::process::abort();
            }
        }
        if let Some(gate) = GATE.as_ref() {
            let report = report(names, file, line);
            // Others must not wait behind a task that is kept waiting here.
            match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
                Ok(RuntimeFlavor::MultiThread) => {
                    tokio::task::block_in_place(|| wait(gate, &report))
                }
                _ => wait(gate, &report),
            }
        }
    }

    /// Names of points and source files need no escapes.
    fn report(names: &[&str], file: &str, line: u32) -> String {
        let names = names.join("\",\"");
        format!(
            "{{\"process\":\"{}\",\"points\":[\"{names}\"],\"file\":\"{file}\",\"line\":{line}}}\n",
            *PROCESS
        )
    }

    /// A gate that is gone stops nobody.
    fn wait(gate: &str, report: &str) {
        let Ok(mut stream) = TcpStream::connect(gate) else {
            return;
        };
        if stream.write_all(report.as_bytes()).is_ok() {
            let _ = BufReader::new(stream).read_line(&mut String::new());
        }
    }
}
