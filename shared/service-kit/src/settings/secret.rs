//! Secrets that stand in files, as Docker and Kubernetes hand them to a process: unlike the
//! environment, a file does not show in `docker inspect`, in crash reports, or in child processes.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Far above any password, and far below what would hurt.
const LARGEST: u64 = 64 * 1024;

/// A setting's name, for messages, and what it is set to.
pub type Setting<T> = (&'static str, T);

/// A secret that can't be used. No message holds it, nor the URL that it belongs to.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSecret {
    /// The file can't be read.
    #[error("{setting} {}: {}", path.display(), unreadable(source))]
    Unreadable {
        /// The setting that names the file.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system reported.
        source: io::Error,
    },
    /// It can be read and holds no secret.
    #[error("{setting} {}: {reason}", path.display())]
    Content {
        /// The setting that names the file.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Two places for one secret: nobody should have to know which of them counts.
    #[error("{0} and {1} both give the secret: keep one of them")]
    Twice(&'static str, &'static str),
    /// The URL has no place for a password.
    #[error("{url} {reason}: {file} can't be used with it")]
    NoPlace {
        /// The URL's setting.
        url: &'static str,
        /// The setting that names the file.
        file: &'static str,
        /// Why there is no place.
        reason: &'static str,
    },
}

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "permission denied; make it readable for the user that runs this program".to_owned()
        }
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    }
}

/// Puts the password in the file into the URL, which has none. Without a file the URL stays as it is.
///
/// # Errors
/// The file can't be used, or the URL has a password already, or no place for one.
pub fn with_password(
    (url_name, url): Setting<&str>,
    (file_name, file): Setting<Option<&Path>>,
) -> Result<String, InvalidSecret> {
    let Some(file) = file else { return Ok(url.to_owned()) };
    let no_place = |reason| InvalidSecret::NoPlace { url: url_name, file: file_name, reason };
    if url.starts_with("sqlite:") {
        return Err(no_place("is SQLite, which has no passwords"));
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(no_place("is no URL"));
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, _) = authority.rsplit_once('@').unwrap_or_default();
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    if user.contains(':') || query.split('&').any(|pair| pair.starts_with("password=")) {
        return Err(InvalidSecret::Twice(url_name, file_name));
    }
    if user.is_empty() {
        return Err(no_place("names no user (scheme://user@host/…)"));
    }
    let address = rest.split_at(user.len()).1;
    let password = percent_encoded(&read((file_name, file))?);
    Ok(format!("{scheme}://{user}:{password}{address}"))
}

/// The secret of a setting that may be given as it is or by a file. An empty one counts as not given.
///
/// # Errors
/// The file can't be used, or there are both.
pub fn either(
    (name, value): Setting<Option<&str>>,
    (file_name, file): Setting<Option<&Path>>,
) -> Result<Option<String>, InvalidSecret> {
    match (value.filter(|value| !value.is_empty()), file) {
        (Some(_), Some(_)) => Err(InvalidSecret::Twice(name, file_name)),
        (value, None) => Ok(value.map(str::to_owned)),
        (None, Some(file)) => read((file_name, file)).map(Some),
    }
}

/// The text of the file, without the newline that editors and `echo` put at its end.
fn read((setting, path): Setting<&Path>) -> Result<String, InvalidSecret> {
    let mut bytes = Vec::new();
    let opened = File::open(path);
    let read = opened.and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    let path = path.to_owned();
    let size = match read {
        Ok(size) => size as u64,
        Err(source) => return Err(InvalidSecret::Unreadable { setting, path, source }),
    };
    let reason = match String::from_utf8(bytes) {
        _ if size > LARGEST => "it is larger than any secret (64 KiB)",
        Err(_) => "it is not UTF-8",
        Ok(text) => {
            let secret = text.strip_suffix('\n').unwrap_or(&text);
            let secret = secret.strip_suffix('\r').unwrap_or(secret);
            if !secret.is_empty() {
                return Ok(secret.to_owned());
            }
            "it is empty"
        }
    };
    Err(InvalidSecret::Content { setting, path, reason })
}

/// Everything but what has no meaning of its own in any part of a URL (RFC 3986, "unreserved").
fn percent_encoded(secret: &str) -> String {
    let mut encoded = String::new();
    for byte in secret.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(byte.into());
            }
            // Writing to a string can't fail.
            _ => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use test_kit::{Backing, Storage};

    use super::*;

    const URL: &str = "DATABASE_URL";
    const FILE: &str = "DATABASE_PASSWORD_FILE";

    /// A file with these bytes, and the folder that holds it.
    fn file(bytes: &[u8]) -> (Storage, PathBuf) {
        let storage = Storage::new(Backing::Embedded);
        let path = storage.folder().join("secret");
        std::fs::write(&path, bytes).expect("a file");
        (storage, path)
    }

    fn url(url: &str, bytes: &[u8]) -> Result<String, String> {
        let (_storage, path) = file(bytes);
        with_password((URL, url), (FILE, Some(&path))).map_err(|error| error.to_string())
    }

    #[test]
    fn the_password_goes_between_user_and_host_and_the_rest_stays() {
        for (given, expected) in [
            ("postgres://shop@one:1,two/db?x=1", "postgres://shop:a%40b@one:1,two/db?x=1"),
            ("amqp://shop@[::1]:5673/a@b", "amqp://shop:a%40b@[::1]:5673/a@b"),
        ] {
            assert_eq!(url(given, b"a@b").as_deref(), Ok(expected));
        }
        let unchanged = with_password((URL, "postgres://shop:x@host/db"), (FILE, None));
        assert_eq!(unchanged.expect("no file"), "postgres://shop:x@host/db");
    }

    #[test]
    fn one_newline_at_the_end_is_not_part_of_the_secret_and_everything_else_is() {
        for (bytes, expected) in [
            (&b"secret"[..], "secret"),
            (b"secret\n", "secret"),
            (b"secret\r\n", "secret"),
            (b"secret\n\n", "secret%0A"),
            (b" secret ", "%20secret%20"),
        ] {
            let expected = format!("amqp://shop:{expected}@host");
            assert_eq!(url("amqp://shop@host", bytes), Ok(expected));
        }
    }

    #[test]
    fn a_url_with_a_password_of_its_own_or_without_a_place_for_one_is_refused() {
        for (given, says) in [
            ("postgres://shop:s3cret@host/db", "both give the secret"),
            ("postgres://shop:@host/db", "both give the secret"),
            ("postgres://shop@host/db?a=b&password=s3cret", "both give the secret"),
            ("amqp://shop:s3cret@one,two/db", "both give the secret"),
            ("sqlite://s3cret.db", "is SQLite"),
            ("sqlite:s3cret.db", "is SQLite"),
            ("postgres://host/db@s3cret", "names no user"),
            ("postgres://@host/s3cret", "names no user"),
            ("s3cret", "is no URL"),
        ] {
            let error = url(given, b"another").expect_err(given);
            assert!(error.contains(says) && error.contains(URL) && error.contains(FILE), "{error}");
            assert!(!error.contains("s3cret") && !error.contains("another"), "{error}");
        }
    }

    #[test]
    fn a_file_that_holds_no_secret_is_named_with_the_reason() {
        let (storage, path) = file(b"");
        let missing = storage.folder().join("missing");
        for (path, bytes, says) in [
            (&missing, None, "there is no such file"),
            (&storage.folder(), None, "directory"),
            (&path, Some(vec![]), "it is empty"),
            (&path, Some(b"\n".to_vec()), "it is empty"),
            (&path, Some(b"caf\xe9".to_vec()), "it is not UTF-8"),
            (&path, Some(vec![b'x'; 65 * 1024]), "it is larger than"),
        ] {
            if let Some(bytes) = bytes {
                std::fs::write(path, bytes).expect("written");
            }
            let error = with_password((URL, "amqp://shop@host"), (FILE, Some(path)));
            let error = error.expect_err(says).to_string();
            let start = format!("{FILE} {}: ", path.display());
            assert!(error.starts_with(&start) && error.contains(says), "{error}");
        }
    }

    /// Whoever runs the tests may read any file: so what the system says is made up.
    #[test]
    fn a_file_that_may_not_be_read_comes_with_what_to_do() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let path = PathBuf::from("secret");
        let error = InvalidSecret::Unreadable { setting: FILE, path, source }.to_string();
        let expected = "DATABASE_PASSWORD_FILE secret: permission denied; make it readable for the \
                        user that runs this program";
        assert_eq!(error, expected);
    }

    #[test]
    fn a_secret_is_given_as_it_is_or_by_a_file_and_not_by_both() {
        let (_storage, path) = file(b"from the file\n");
        let (name, file_name) = ("ADMIN_TOKEN", "ADMIN_TOKEN_FILE");
        let token = |value, file| either((name, value), (file_name, file));
        assert_eq!(token(None, None).expect("none"), None);
        assert_eq!(token(Some("s3cret"), None).expect("as it is").as_deref(), Some("s3cret"));
        for unset in [None, Some("")] {
            let found = token(unset, Some(&*path)).expect("a file");
            assert_eq!(found.as_deref(), Some("from the file"));
        }
        let error = token(Some("s3cret"), Some(&path)).expect_err("both").to_string();
        assert_eq!(
            error,
            "ADMIN_TOKEN and ADMIN_TOKEN_FILE both give the secret: keep one of them"
        );
    }
}
