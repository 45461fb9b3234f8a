//! What scripts want to know of the database: only the main thread can look.
//!
//! A thread puts its question on the desk, wakes the main thread and waits for the reply, no longer than its script has
//! time. A question whose thread has given up may be answered still; the reply goes nowhere.

use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::wake::Wake;

/// What a script asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// A value of its workflow's key-value store.
    Kv(String),
    /// A value of the configuration.
    Config(String),
}

/// JSON text of the value, `None` if there is none, or why it could not be read.
type Reply = Result<Option<String>, String>;

/// A question with the way back.
#[derive(Debug)]
pub struct Inquiry {
    /// The job that asks.
    pub token: u64,
    /// What it asks for.
    pub question: Question,
    reply: SyncSender<Reply>,
}

impl Inquiry {
    /// Answers; never waits. An inquiry that is dropped instead is answered with an error.
    pub fn answer(self, reply: Reply) {
        // Fails when nobody waits any more.
        let _ = self.reply.try_send(reply);
    }
}

/// The questions that nobody has taken yet.
#[derive(Debug, Default)]
pub(super) struct Desk(Mutex<Vec<Inquiry>>);

impl Desk {
    /// Asks and waits for `left` at most.
    pub(super) fn ask(&self, token: u64, question: Question, left: Duration, wake: &Wake) -> Reply {
        let (reply, answers) = mpsc::sync_channel(1);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Inquiry { token, question, reply });
        wake.raise();
        answers.recv_timeout(left).unwrap_or_else(|error| {
            Err(match error {
                RecvTimeoutError::Timeout => "no answer in time".to_owned(),
                RecvTimeoutError::Disconnected => "the worker did not answer".to_owned(),
            })
        })
    }

    /// All questions.
    pub(super) fn take(&self) -> Vec<Inquiry> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
