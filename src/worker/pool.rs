//! The pool of a worker: made from the settings, and handed the tasks of a turn.

use super::held::Held;
use super::serve::Worker;
use super::task::Task;
use crate::action::{self, Job, Pool, Request, Settings};
use crate::guc;
use std::time::Duration;

impl Worker {
    /// Notes the instance as in flight; the job is what the pool has to do for it.
    pub(super) fn depart(&mut self, held: Held, task: Task) -> Option<Job> {
        let want_body = held.action().is_some_and(|action| action.output.is_some());
        let task = match task {
            Task::Http(request) => action::Task::Http(Request {
                method: request.method,
                url: request.url,
                headers: request.headers,
                body: request.body,
                timeout: Duration::from_millis(u64::from(request.timeout_ms)),
                want_body,
            }),
            Task::Script(script) => action::Task::Script(script),
            Task::Local(_) => return None,
        };
        self.next_token += 1;
        self.body_bytes += held.sent.as_ref().map_or(0, |sent| sent.body_bytes);
        self.flights.insert(self.next_token, held);
        Some(Job { token: self.next_token, task })
    }

    /// Takes over settings that changed.
    pub(super) fn reconfigure(&mut self) {
        self.lanes.set_bounds(guc::lane_max_in_flight(), guc::http_threads());
        if let Err(error) = self.pool.reconfigure(&pool_settings()) {
            pgrx::warning!("rea worker keeps its former HTTP settings: {error}");
        }
    }
}

/// A CA file that cannot be read must not stop the receivers that need none.
pub fn start_pool() -> Pool {
    let settings = pool_settings();
    let pool = Pool::new(&settings).or_else(|error| {
        pgrx::warning!("rea worker does without rea.ca_file: {error}");
        Pool::new(&Settings { ca_file: None, ..settings })
    });
    match pool {
        Ok(pool) => pool,
        Err(error) => pgrx::error!("rea worker could not start its HTTP client: {error}"),
    }
}

fn pool_settings() -> Settings {
    Settings {
        max_threads: guc::http_threads(),
        max_response_bytes: guc::max_response_bytes(),
        ca_file: guc::ca_file(),
        max_idle_connections: guc::http_threads(),
    }
}
