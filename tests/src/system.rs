//! The operating system's side of a cluster: running commands as a user whom
//! PostgreSQL accepts, free ports, signals.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

/// The user that servers run as when the tests run as root, which PostgreSQL
/// refuses.
const SERVER_USER: &str = "postgres";

/// User and group id of the servers: `None` when the tests' own user is fine.
pub fn server_user() -> Option<(u32, u32)> {
    // SAFETY: geteuid has no preconditions and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return None;
    }
    Some((id_of("-u"), id_of("-g")))
}

fn id_of(option: &str) -> u32 {
    let output = Command::new("id").args([option, SERVER_USER]).output();
    let output = output.unwrap_or_else(|e| panic!("could not run id: {e}"));
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("there is no user {SERVER_USER}"))
}

/// A command that runs as the server's user, outside the source tree and
/// without `RUST_BACKTRACE`, which makes every error of the server slow.
pub fn as_server(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").env_remove("RUST_BACKTRACE");
    if let Some((uid, gid)) = server_user() {
        command.uid(uid).gid(gid);
    }
    command
}

/// Runs a command to its end and returns what it printed.
///
/// # Panics
/// If it cannot be started or ends with an error; its output is then shown.
pub fn run(command: &mut Command) -> String {
    let output = try_run(command);
    assert!(
        output.status.success(),
        "{command:?} ended with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Like [`run`], but an error status is for the caller to judge.
pub fn try_run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("could not start {command:?}: {e}"))
}

/// Gives a path to the server's user.
pub fn give_to_server(path: &Path) {
    if let Some((uid, gid)) = server_user() {
        std::os::unix::fs::chown(path, Some(uid), Some(gid))
            .unwrap_or_else(|e| panic!("could not give {} away: {e}", path.display()));
    }
}

/// A TCP port on 127.0.0.1 that nobody listens on at the moment.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("no free port");
    listener.local_addr().expect("bound socket").port()
}

/// Sends a signal; a process that is gone already is no error.
pub fn signal(pid: i32, signal: i32) {
    // SAFETY: kill reads nothing but its two integers.
    unsafe { libc::kill(pid, signal) };
}
