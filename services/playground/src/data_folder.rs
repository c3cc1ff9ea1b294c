use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Marks a folder as ours, so that `--reset` never empties somebody else's. Its lock is held while
/// a shop runs in the folder: two of them would fight for the same files.
const MARKER: &str = "once-shop.lock";

/// The folder with the embedded databases, held by this process.
#[derive(Debug)]
pub(crate) struct DataFolder {
    path: PathBuf,
    _lock: File,
}

impl DataFolder {
    /// Takes the folder, and empties it when `reset` says so.
    pub(crate) fn open(path: &Path, reset: bool) -> anyhow::Result<Self> {
        let named = || format!("data folder {}", path.display());
        let is_new = !path.exists() || fs::read_dir(path).with_context(named)?.next().is_none();
        fs::create_dir_all(path).with_context(named)?;
        let marker = path.join(MARKER);
        anyhow::ensure!(
            is_new || marker.exists(),
            "data folder {}: there are files in it that are not ours; choose another with --data",
            path.display()
        );
        let lock = File::create(&marker).with_context(named)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => anyhow::bail!(
                "data folder {}: another shop runs in it; stop it or choose another with --data",
                path.display()
            ),
            Err(TryLockError::Error(error)) => return Err(error).with_context(named),
        }
        if reset {
            empty(path).with_context(named)?;
        }
        let path = path.canonicalize().with_context(named)?;
        Ok(Self { path, _lock: lock })
    }

    /// The URL of a SQLite database in the folder.
    pub(crate) fn sqlite_url(&self, name: &str) -> String {
        format!("sqlite://{}", self.path.join(name).display())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn empty(path: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name() == MARKER {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}
