//! A workflow played on a virtual clock, with mocked outcomes: nothing is sent, nothing is stored.
//!
//! Every decision is made by the functions that the worker calls: [`after_attempt`](crate::flow::instance::after_attempt),
//! [`join::next`](crate::flow::join::next), [`wait::look`](crate::flow::wait::look),
//! [`undo::steps`](crate::flow::undo::steps) and the rendering of requests and outputs. Here is only what carries them
//! out in memory: instances ([`run`]), the agenda of what happens when ([`clock`]), and the story that is told
//! ([`story`]). Values of expressions and other workflows come through [`Database`].

mod attempt;
mod call;
mod children;
mod clock;
mod course;
mod ending;
mod event;
mod play;
mod run;
mod step;
mod story;
mod wait;

use chrono::{DateTime, Utc};

use crate::flow::definition::{Match, Workflow};
use crate::flow::emit::Bounds;
use crate::flow::expression::{Expression, PathValue};
use crate::flow::instance::Limits;
use crate::flow::outcome::Failure;
use crate::flow::parse::mocks::{GivenEvent, Mocks};

pub use story::{Kind, Line};

/// Steps after which a simulation is given up.
pub const MOST_STEPS: usize = 10_000;

/// What a simulation has to ask of PostgreSQL.
pub trait Database {
    /// What can go wrong there.
    type Error;

    /// The values of paths over a document, JSON text. The inner failure is one of the paths: permanent.
    fn evaluate(
        &mut self,
        document: &str,
        paths: &[Expression],
    ) -> Result<Result<Vec<PathValue>, Failure>, Self::Error>;

    /// Whether a document of `event` and `payload` is what a wait asks for.
    fn matches(&mut self, document: &str, matching: &Match) -> Result<bool, Self::Error>;

    /// Reads a time as PostgreSQL does; also as the JSON text that a document shows. Errors: it is none.
    fn time(&mut self, text: &str) -> Result<(DateTime<Utc>, String), Self::Error>;

    /// A stored workflow in the version in force; None = there is none of that name.
    fn workflow(&mut self, name: &str) -> Result<Option<Stored>, Self::Error>;
}

/// A stored workflow.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Its version in force.
    pub version: i32,
    /// Whether it may start.
    pub enabled: bool,
    /// What it does; None = the stored text cannot be used.
    pub workflow: Option<Workflow>,
}

/// What the server's settings say.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bounds of retries.
    pub limits: Limits,
    /// Bounds of new events.
    pub bounds: Bounds,
    /// Largest output of one action, in bytes.
    pub max_output_bytes: usize,
    /// Largest collection of outputs, in bytes.
    pub max_context_bytes: usize,
    /// Time for an attempt of a local or lua action that states none, in milliseconds.
    pub action_timeout_ms: u32,
    /// Version of rea.
    pub version: &'static str,
}

/// What is played.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The workflow.
    pub workflow: Workflow,
    /// Its version as `instance.workflowVersion` shows it; 0 = not stored.
    pub version: i32,
    /// The event that starts it.
    pub event: GivenEvent,
    /// What happens outside.
    pub mocks: Mocks,
}

/// Why there is no story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault<E> {
    /// PostgreSQL raised an error that is none of the workflow's.
    Database(E),
    /// The simulation took [`MOST_STEPS`] steps and did not end.
    TooManySteps,
}

impl<E> From<E> for Fault<E> {
    fn from(error: E) -> Self {
        Fault::Database(error)
    }
}

/// Plays the workflow from the event on. The clock begins when the event fires (`fire_at`), else when it occurred, else
/// `now`.
pub fn simulate<D: Database>(
    database: &mut D,
    subject: &Subject,
    settings: &Settings,
    now: DateTime<Utc>,
) -> Result<Vec<Line>, Fault<D::Error>> {
    let event = &subject.event;
    let begin = match event.fire_at.as_ref().or(event.occurred_at.as_ref()) {
        Some(text) => database.time(text)?.0,
        None => now,
    };
    play::Play::new(database, subject, settings, begin).run()
}
