//! What the operating system knows about a process.

use std::fs;

use anyhow::{Context, Result};

/// Memory of a process, in MB (1,000,000 bytes).
#[derive(Clone, Copy, Default)]
pub struct Memory {
    /// Resident now, shared memory included.
    pub resident: f64,
    /// Most that was ever resident.
    pub peak: f64,
    /// Resident and its own: neither shared memory nor files.
    pub private: f64,
}

impl Memory {
    /// Memory of a process now.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn of(pid: i32) -> Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let value = |key: &str| -> Result<f64> {
            let line = text.lines().find(|line| line.starts_with(key)).with_context(|| format!("no {key}"))?;
            let kib: f64 = line.split_whitespace().nth(1).context("no value")?.parse()?;
            Ok(kib * 1024.0 / 1e6)
        };
        Ok(Self { resident: value("VmRSS:")?, peak: value("VmHWM:")?, private: value("RssAnon:")? })
    }
}

/// CPU time of a process so far, in seconds, its threads included.
///
/// # Errors
/// If there is no such process.
pub fn cpu_seconds(pid: i32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name before the last bracket may hold anything.
    let fields = text.rsplit_once(')').context("no name")?.1;
    let ticks =
        |index: usize| -> Result<f64> { Ok(fields.split_whitespace().nth(index).context("too few fields")?.parse()?) };
    // SAFETY: sysconf only reads a constant.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    Ok((ticks(11)? + ticks(12)?) / per_second)
}
