//! A script's changes of the key-value store, kept until the attempt is recorded.

use super::report::KvSet;
use std::time::Duration;

/// Longest key, in bytes.
const MAX_KEY_BYTES: usize = 512;
/// Longest value as JSON, in bytes.
pub(super) const MAX_VALUE_BYTES: usize = 256 * 1024;
/// Longest life of a value, in seconds: ten years.
const MAX_TTL_SECONDS: f64 = 315_360_000.0;
/// Most keys that one run may change, and bytes of all their values.
const MAX_KEYS: usize = 1000;
const MAX_BYTES: usize = 4 << 20;

/// The changes, one per key, in order of the last set.
#[derive(Debug, Default)]
pub(super) struct Kv {
    sets: Vec<KvSet>,
    bytes: usize,
}

/// Why a change was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum KvError {
    /// The key is not 1 to [`MAX_KEY_BYTES`] bytes of UTF-8 without NUL.
    #[error("key must be 1 to {MAX_KEY_BYTES} bytes of text without NUL")]
    Key,
    /// The time to live is no number of seconds above 0.
    #[error("time to live must be more than 0 and at most {MAX_TTL_SECONDS} seconds")]
    Ttl,
    /// Too many or too large changes.
    #[error("one run may change at most {MAX_KEYS} keys and {MAX_BYTES} bytes")]
    Full,
}

/// The key, if it can be one.
///
/// # Errors
/// [`KvError::Key`].
pub(super) fn checked_key(bytes: &[u8]) -> Result<&str, KvError> {
    let key = std::str::from_utf8(bytes).map_err(|_| KvError::Key)?;
    let fits = (1..=MAX_KEY_BYTES).contains(&key.len()) && !key.contains('\0');
    if fits { Ok(key) } else { Err(KvError::Key) }
}

/// The time to live, if it can be one.
///
/// # Errors
/// [`KvError::Ttl`].
pub(super) fn checked_ttl(seconds: f64) -> Result<Duration, KvError> {
    if seconds > 0.0 && seconds <= MAX_TTL_SECONDS { Ok(Duration::from_secs_f64(seconds)) } else { Err(KvError::Ttl) }
}

impl Kv {
    /// The value that this run gave a key: `None` if it did not touch it, `Some(None)` if it removed it.
    pub(super) fn get(&self, key: &str) -> Option<Option<String>> {
        self.sets.iter().find(|set| set.key == key).map(|set| set.value.clone())
    }

    /// Takes a change.
    ///
    /// # Errors
    /// [`KvError`] says why it cannot be taken.
    pub(super) fn set(&mut self, set: KvSet) -> Result<(), KvError> {
        let size = |set: &KvSet| set.value.as_ref().map_or(0, String::len);
        if let Some(place) = self.sets.iter().position(|known| known.key == set.key) {
            self.bytes -= size(&self.sets.remove(place));
        }
        if self.sets.len() >= MAX_KEYS || self.bytes + size(&set) > MAX_BYTES {
            return Err(KvError::Full);
        }
        self.bytes += size(&set);
        self.sets.push(set);
        Ok(())
    }

    /// All changes.
    pub(super) fn into_sets(self) -> Vec<KvSet> {
        self.sets
    }
}
