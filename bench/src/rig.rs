//! The cluster that is measured, with the databases, receivers and loads that
//! measurements ask for.

mod load;
mod process;
mod receiver;

use std::cell::RefCell;
use std::time::Duration;

use anyhow::{Context, Result};
use postgres::Client;
use rea_tests::{Cluster, Config, wait_until};

pub use load::{Load, Steps, fire_many, payload};
pub use process::Memory;
pub use receiver::Receiver;

/// Deadline of every wait: long, because a slow result is better than none.
pub const PATIENCE: Duration = Duration::from_secs(900);

/// Settings of the measured server that differ from PostgreSQL's defaults.
/// Durability stays as it is by default.
pub const SETTINGS: [(&str, &str); 6] = [
    ("shared_buffers", "512MB"),
    ("max_wal_size", "4GB"),
    ("checkpoint_timeout", "30min"),
    ("max_connections", "100"),
    ("fsync", "on"),
    ("synchronous_commit", "on"),
];

/// A cluster with a session for its settings.
pub struct Rig {
    /// The cluster.
    pub cluster: Cluster,
    /// Take a tenth of the work.
    pub quick: bool,
    control: RefCell<Client>,
}

impl Rig {
    /// Starts the cluster.
    pub fn start(quick: bool) -> Self {
        let config = SETTINGS.iter().fold(Config::new(), |config, (name, value)| config.set(name, value));
        let cluster = Cluster::start(&config.without_extension());
        let control = RefCell::new(cluster.connect("postgres"));
        Self { cluster, quick, control }
    }

    /// An amount of work, a tenth of it in a quick run.
    pub fn amount(&self, full: usize) -> usize {
        if self.quick { full.div_ceil(10) } else { full }
    }

    /// Version of the server.
    ///
    /// # Errors
    /// If it cannot be asked.
    pub fn version(&self) -> Result<String> {
        Ok(self.control.borrow_mut().query_one("select version()", &[])?.get(0))
    }

    /// Sets server-wide settings and makes all processes read them.
    ///
    /// # Errors
    /// If the server refuses one.
    pub fn set(&self, settings: &[(&str, &str)]) -> Result<()> {
        let mut control = self.control.borrow_mut();
        for (name, value) in settings {
            let sql = format!("alter system set {name} = '{value}'");
            control.batch_execute(&sql).with_context(|| format!("could not set {name}"))?;
        }
        control.batch_execute("select pg_reload_conf()").context("could not reload")
    }

    /// Goes back to the settings the cluster was started with.
    ///
    /// # Errors
    /// If the server refuses.
    pub fn reset(&self) -> Result<()> {
        let mut control = self.control.borrow_mut();
        control.batch_execute("alter system reset all").context("could not reset")?;
        control.batch_execute("select pg_reload_conf()").context("could not reload")
    }

    /// Runs SQL outside the measured database.
    ///
    /// # Errors
    /// If the server refuses it.
    pub fn control(&self, sql: &str) -> Result<()> {
        self.control.borrow_mut().batch_execute(sql).with_context(|| format!("could not run {sql}"))
    }

    /// One number asked outside the measured database.
    ///
    /// # Errors
    /// If the query fails.
    pub fn number(&self, sql: &str) -> Result<i64> {
        Ok(self.control.borrow_mut().query_one(sql, &[])?.get(0))
    }

    /// Runs a measurement on a new database with rea and one worker, and drops
    /// the database afterwards.
    ///
    /// # Errors
    /// Those of the measurement.
    pub fn with_database<T>(&self, name: &str, body: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        self.cluster.create_database(name);
        wait_until(PATIENCE, "the worker has started", || !self.cluster.worker_pids(name).is_empty());
        let result = body(name);
        self.control(&format!("drop database {name} with (force)"))?;
        result
    }
}
