//! A throwaway PostgreSQL cluster with rea preloaded.
//!
//! It lives in a folder of its own, listens on a free port of 127.0.0.1 and on
//! a socket in that folder, and is stopped and removed on drop
//! (`REA_KEEP=1` keeps the folder). Its superuser is `postgres`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use tempfile::TempDir;

use crate::system::{as_server, free_port, give_to_server, run, signal, try_run};
use crate::wait::{PATIENCE, wait_until};

/// The database that exists from the start and holds the extension.
pub const DATABASE: &str = "app";

/// How a cluster is set up.
#[derive(Clone)]
pub struct Config {
    settings: Vec<(String, String)>,
    create_extension: bool,
}

impl Config {
    /// Defaults of PostgreSQL and rea, `fsync` on, room for many workers.
    pub fn new() -> Self {
        let config = Self { settings: Vec::new(), create_extension: true };
        config
            .set("shared_preload_libraries", "rea")
            .set("max_worker_processes", "32")
            .set("log_line_prefix", "%m [%p] %b ")
    }

    /// Sets one setting of `postgresql.conf`; the last one of a name wins.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Turns `fsync` off, for tests that say nothing about crashes.
    pub fn without_fsync(self) -> Self {
        self.set("fsync", "off")
    }

    /// Leaves the database `app` without the extension.
    pub fn without_extension(mut self) -> Self {
        self.create_extension = false;
        self
    }

    fn file_text(&self) -> String {
        let line = |(name, value): &(String, String)| format!("{name} = '{}'\n", value.replace('\'', "''"));
        self.settings.iter().map(line).collect()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

/// The three ways to stop a server.
#[derive(Clone, Copy, Debug)]
pub enum StopMode {
    /// Waits for clients to leave.
    Smart,
    /// Ends sessions, then shuts down cleanly.
    Fast,
    /// Like a crash; recovery runs at the next start.
    Immediate,
}

impl StopMode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Smart => "smart",
            Self::Fast => "fast",
            Self::Immediate => "immediate",
        }
    }
}

/// A running (or stopped) cluster; see the module's text.
pub struct Cluster {
    bin: PathBuf,
    folder: Option<TempDir>,
    data: PathBuf,
    port: u16,
}

impl Cluster {
    /// Makes and starts a cluster, with rea in database `app`.
    ///
    /// # Panics
    /// If `REA_PG_BIN` is not set or the server does not start.
    pub fn start(config: &Config) -> Self {
        let cluster = Self::empty();
        cluster.initdb(config);
        cluster.start_again();
        run(cluster.tool("createdb").arg(DATABASE));
        if config.create_extension {
            cluster.psql(DATABASE, "create extension rea");
        }
        cluster
    }

    /// Makes and starts a streaming standby of a running cluster.
    ///
    /// # Panics
    /// If it cannot be copied or does not start.
    pub fn standby_of(primary: &Self) -> Self {
        let standby = Self::empty();
        run(primary.tool("pg_basebackup").args(["-R", "-c", "fast", "-D"]).arg(&standby.data));
        standby.configure("");
        standby.start_again();
        standby
    }

    /// Makes a standby a primary of its own.
    pub fn promote(&self) {
        run(self.pg_ctl("promote").args(["-t", "120"]));
    }

    fn empty() -> Self {
        let folder = tempfile::Builder::new().prefix("rea-test.").tempdir().expect("could not make a folder");
        give_to_server(folder.path());
        Self { bin: bin_folder(), data: folder.path().join("data"), folder: Some(folder), port: free_port() }
    }

    fn initdb(&self, config: &Config) {
        let mut command = as_server(&self.bin.join("initdb"));
        command.arg("-D").arg(&self.data);
        run(command.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]));
        self.configure(&config.file_text());
    }

    /// Appends this cluster's own addresses and some settings to its
    /// configuration file; the last setting of a name wins.
    fn configure(&self, settings: &str) {
        let path = self.data.join("postgresql.conf");
        let mut text = fs::read_to_string(&path).expect("the cluster has a postgresql.conf");
        text.push_str(&format!(
            "\nport = {}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\n{settings}",
            self.port,
            self.folder().display()
        ));
        fs::write(&path, text).expect("could not write postgresql.conf");
    }

    /// Starts the server after [`Cluster::stop`] and waits until it answers.
    pub fn start_again(&self) {
        let output = try_run(self.pg_ctl("start").args(["-t", "120", "-l"]).arg(self.log_path()));
        assert!(output.status.success(), "the server did not start:\n{}", self.log());
    }

    /// Stops the server and returns how long that took.
    pub fn stop(&self, mode: StopMode) -> Duration {
        let start = Instant::now();
        run(self.pg_ctl("stop").args(["-t", "120", "-m", mode.as_str()]));
        start.elapsed()
    }

    /// Stops and starts the server.
    pub fn restart(&self, mode: StopMode) {
        self.stop(mode);
        self.start_again();
    }

    /// Makes the server read its configuration again, after setting one value.
    pub fn reload_with(&self, name: &str, value: &str) {
        self.psql("postgres", &format!("alter system set {name} = '{value}'"));
        self.psql("postgres", "select pg_reload_conf()");
    }

    /// Kills one process of the server without warning and returns when the
    /// server has noticed: it then restarts all its processes, as after a crash.
    pub fn kill_9(&self, pid: i32) {
        let mut witness = self.connect("postgres");
        signal(pid, libc::SIGKILL);
        wait_until(PATIENCE, "the crash has ended all sessions", || witness.batch_execute("select 1").is_err());
    }

    /// Waits until the server takes connections again, after a crash.
    pub fn wait_ready(&self) {
        wait_until(PATIENCE, "the server takes connections", || self.try_connect("postgres").is_ok());
    }

    /// Opens a session as superuser.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn connect(&self, database: &str) -> Client {
        self.try_connect(database).unwrap_or_else(|e| panic!("could not connect to {database}: {e:?}\n{}", self.log()))
    }

    /// Like [`Cluster::connect`], for a server that may be down.
    pub fn try_connect(&self, database: &str) -> Result<Client, postgres::Error> {
        Client::connect(&self.connection_string(database, "postgres"), NoTls)
    }

    /// What a client needs to connect, for sessions with settings of their own.
    pub fn connection_string(&self, database: &str, user: &str) -> String {
        format!("host=127.0.0.1 port={} user={user} dbname={database} connect_timeout=20", self.port)
    }

    /// Runs SQL with psql, one statement after the other, and returns the rows
    /// unaligned, without headers.
    pub fn psql(&self, database: &str, sql: &str) -> String {
        run(&mut self.psql_command(database, sql)).trim_end().to_owned()
    }

    /// Runs SQL that must fail and returns what psql says about it, with
    /// SQLSTATE, detail and hint.
    pub fn psql_error(&self, database: &str, sql: &str) -> String {
        let output = try_run(&mut self.psql_command(database, sql));
        assert!(!output.status.success(), "no error from: {sql}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn psql_command(&self, database: &str, sql: &str) -> Command {
        let mut command = self.tool("psql");
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1"]);
        command.args(["-v", "VERBOSITY=verbose", "-d", database, "-c", sql]);
        command
    }

    /// Creates a database that holds the extension.
    pub fn create_database(&self, name: &str) {
        run(self.tool("createdb").arg(name));
        self.psql(name, "create extension rea");
    }

    /// A command of the server's tree (`pg_dump`, `pgbench` …) that connects
    /// to this server.
    pub fn tool(&self, name: &str) -> Command {
        let mut command = as_server(&self.bin.join(name));
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.port.to_string());
        command.env("PGUSER", "postgres");
        command
    }

    fn pg_ctl(&self, action: &str) -> Command {
        let mut command = as_server(&self.bin.join("pg_ctl"));
        command.arg(action).arg("-s").arg("-w").arg("-D").arg(&self.data);
        command
    }

    /// Process ids of the workers of one database, in order; those for local
    /// actions are not among them.
    pub fn worker_pids(&self, database: &str) -> Vec<i32> {
        let rows = self.connect("postgres").query(
            "select pid from pg_catalog.pg_stat_activity \
             where datname = $1 and backend_type = 'rea worker' order by pid",
            &[&database],
        );
        rows.expect("pg_stat_activity").iter().map(|row| row.get(0)).collect()
    }

    /// Process id of the postmaster.
    pub fn postmaster_pid(&self) -> i32 {
        let text = fs::read_to_string(self.data.join("postmaster.pid")).expect("server is running");
        let first = text.lines().next().unwrap_or_default();
        first.trim().parse().expect("postmaster.pid starts with a number")
    }

    /// The server log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.folder().join("server.log")
    }

    /// The cluster's own folder; sockets and log lie in it.
    pub fn folder(&self) -> &Path {
        self.data.parent().expect("data lies in the folder")
    }

    /// The port the server listens on, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.pg_ctl("stop").args(["-m", "immediate"]).output();
        if std::env::var_os("REA_KEEP").is_some_and(|value| value == "1")
            && let Some(folder) = self.folder.take()
        {
            eprintln!("kept {}", folder.keep().display());
        }
    }
}

fn bin_folder() -> PathBuf {
    let value = std::env::var_os("REA_PG_BIN")
        .expect("REA_PG_BIN must name the bin folder of a server with rea: see scripts/install-tree.sh");
    PathBuf::from(value)
}
