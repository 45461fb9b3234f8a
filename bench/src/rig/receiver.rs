//! The receiver program as a child process.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

/// A running receiver; ended on drop.
pub struct Receiver {
    child: Child,
    origin: String,
}

impl Receiver {
    /// Starts the program that lies beside this one, on a free port.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(options: &[&str]) -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("receiver");
        let mut child = Command::new(&program)
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}", program.display()))?;
        let mut line = String::new();
        let output = child.stdout.take().context("the receiver has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on ").context("the receiver does not listen")?;
        Ok(Self { child, origin: format!("http://{address}") })
    }

    /// Address of a path on it.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    fn get(&self, path: &str) -> Result<String> {
        let mut response = ureq::get(self.url(path)).call()?;
        Ok(response.body_mut().with_config().limit(1 << 30).read_to_string()?)
    }

    /// Requests received so far.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn requests(&self) -> Result<usize> {
        let stats: Value = serde_json::from_str(&self.get("/stats")?)?;
        let count = stats["requests"].as_u64().context("no counter")?;
        Ok(usize::try_from(count)?)
    }

    /// Arrival of each event id, in ns since 1970; needs `--record`.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn arrivals(&self) -> Result<HashMap<String, i128>> {
        let text = self.get("/log")?;
        let pairs = text.lines().filter_map(|line| line.split_once('\t'));
        pairs.map(|(id, at)| Ok((id.to_owned(), at.parse()?))).collect()
    }

    /// Empties counters and log.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn forget(&self) -> Result<()> {
        self.get("/forget").map(drop)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
