//! Named places at which a process can be made to abort, as by `kill -9`.
//!
//! `CRASH_AT=C8` aborts at the first pass of the point C8, `CRASH_AT=C8:3` at the third. Without
//! the feature `lab` the points, and the code that reads the variable, do not exist.
//!
//! The idea of fail points that a person can operate is that of FreeBSD's `fail(9)`; here one
//! action is enough, since a crash is the only failure that needs help from inside.

/// Marks a place where a crash is interesting. Write what it would leave behind in a comment.
///
/// A place in a library may have several names, one for each program that runs through it.
#[macro_export]
macro_rules! crash_point {
    ($($name:literal),+) => {
        $($crate::pass($name);)+
    };
}

/// Does nothing: this build has no crash points.
#[cfg(not(feature = "lab"))]
#[inline(always)]
pub fn pass(_name: &str) {}

#[cfg(feature = "lab")]
pub use lab::pass;

#[cfg(feature = "lab")]
mod lab {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

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

    /// Aborts when this is the point and the pass that `CRASH_AT` names.
    pub fn pass(name: &str) {
        let Some(armed) = ARMED.as_ref().filter(|armed| armed.name == name) else {
            return;
        };
        if armed.passes_left.fetch_sub(1, Ordering::SeqCst) == 1 {
            eprintln!("crash point {name}: aborting");
            std::process::abort();
        }
    }
}
