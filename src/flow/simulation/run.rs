//! An instance in a simulation.

use std::rc::Rc;

use chrono::{DateTime, TimeDelta, Utc};

use super::event::Event;
use crate::flow::context::{Place, Steps};
use crate::flow::definition::{Action, Cursor, Workflow};
use crate::flow::instance::{Progress, Status};
use crate::flow::request::idempotency_key;
use crate::flow::undo::UndoStep;
use crate::flow::wait::Wanted;

type Time = DateTime<Utc>;

/// Where an instance goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// Its current action has to be prepared.
    Open,
    /// It waits for something on the agenda, or for others.
    Parked,
    /// An attempt is in flight.
    InFlight,
    /// It has failed or was cancelled: what it started and did is seen to first.
    Ending,
    /// It has ended.
    Ended,
}

/// What started a child.
#[derive(Debug, Clone)]
pub struct Up {
    /// The instance.
    pub run: usize,
    /// Its action.
    pub action: String,
    /// The branch; None = a child workflow.
    pub branch: Option<String>,
    /// Whether nobody waits for its end.
    pub detached: bool,
}

/// How an instance that failed or was cancelled comes to its end.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Final status it will have.
    pub status: Status,
    /// running, done, failed or none; None = not decided yet.
    pub compensation: Option<&'static str>,
    /// Undo actions that are through.
    pub undo_no: usize,
    /// What has to be undone.
    pub plan: Rc<Vec<UndoStep<usize>>>,
}

/// An event that is waited for.
#[derive(Debug)]
pub struct OpenWait {
    /// The wait action; empty for cancelOn.
    pub action: String,
    /// Position in its list.
    pub place: usize,
    /// The event.
    pub wanted: Wanted,
    /// Events from this time on count.
    pub since: Time,
    /// The event that came, by its place among those that came.
    pub found: Option<usize>,
}

/// How an attempt ended, for undoing it.
#[derive(Debug)]
pub struct Ended {
    /// The action.
    pub action: String,
    /// Whether it succeeded.
    pub succeeded: bool,
    /// When.
    pub at: Time,
    /// Its place among all.
    pub order: usize,
}

/// An instance.
#[derive(Debug)]
pub struct Run {
    /// Its id: a UUID that says it is none.
    pub id: String,
    /// Where it stands in the tree, as shown.
    pub path: String,
    /// What it runs.
    pub workflow: Rc<Workflow>,
    /// Version of that.
    pub version: i32,
    /// Its event.
    pub event: Rc<Event>,
    /// The block that it runs.
    pub block: Option<usize>,
    /// What started it, when it is a child.
    pub parent: Option<Up>,
    /// Item and its position, inside of foreach.
    pub item: Option<(i32, Rc<str>)>,
    /// Members of `steps` that it has from the instances above it.
    pub inherited: String,
    /// When it began.
    pub begin: Time,
    /// Its status.
    pub status: Status,
    /// Where it goes.
    pub course: Course,
    /// Where the current action stands.
    pub progress: Progress,
    /// Begin of the current action; None before it.
    pub tried: Option<Time>,
    /// Whether the attempt to come has its number.
    pub numbered: bool,
    /// What it has learned.
    pub steps: Steps,
    /// How it ends, once that has begun.
    pub ending: Option<Ending>,
    /// Code and message of the failure that ends it.
    pub error: Option<(String, String)>,
    /// Its result.
    pub result: Option<String>,
    /// When it ended.
    pub end: Option<Time>,
    /// A cancellation that is wanted: whether to compensate, and why.
    pub wanted: Option<(bool, String)>,
    /// What it waits for or waited for.
    pub waits: Vec<OpenWait>,
    /// The ends of its attempts.
    pub done: Vec<Ended>,
    /// Looks planned so far; older ones are stale.
    pub look_no: u32,
    /// Whether what comes before the first action is done.
    pub started: bool,
}

impl Run {
    /// A new instance; `number` makes its id.
    pub fn new(number: usize, workflow: Rc<Workflow>, version: i32, event: Rc<Event>, now: Time) -> Run {
        let deadline = workflow.timeout.and_then(|timeout| now.checked_add_signed(TimeDelta::from_std(timeout).ok()?));
        Run {
            id: simulated_id(number),
            path: workflow.name.clone(),
            workflow,
            version,
            event,
            block: None,
            parent: None,
            item: None,
            inherited: String::new(),
            begin: now,
            status: Status::Running,
            course: Course::Open,
            progress: Progress {
                action_index: 0,
                retry_count: 0,
                attempt_no: 0,
                lost_count: 0,
                first_try: now,
                deadline,
                repeated: false,
            },
            tried: None,
            numbered: false,
            steps: Steps::default(),
            ending: None,
            error: None,
            result: None,
            end: None,
            wanted: None,
            waits: Vec::new(),
            done: Vec::new(),
            look_no: 0,
            started: false,
        }
    }

    /// Where the definition is carried out now.
    pub fn cursor(&self) -> Cursor {
        match self.undo() {
            Some(step) => step.cursor,
            None => Cursor { block: self.block, index: self.progress.action_index, undo: false },
        }
    }

    /// The undo step it is at; None unless it compensates, or when all are through.
    pub fn undo(&self) -> Option<&UndoStep<usize>> {
        let ending = self.ending.as_ref().filter(|_| self.status == Status::Compensating)?;
        ending.plan.get(ending.undo_no)
    }

    /// The action at the cursor.
    pub fn action(&self) -> Option<&Action> {
        if self.status == Status::Compensating && self.undo().is_none() {
            return None;
        }
        self.workflow.action(self.cursor())
    }

    /// Name of that action; empty when there is none.
    pub fn action_name(&self) -> String {
        self.action().map(|action| action.name.clone()).unwrap_or_default()
    }

    /// Whether it is a branch of another instance.
    pub fn is_branch(&self) -> bool {
        self.parent.as_ref().is_some_and(|up| up.branch.is_some())
    }

    /// The item that the current action sees.
    pub fn item_now(&self) -> Option<(i32, &str)> {
        let item = match self.undo() {
            Some(step) => step.item.as_ref(),
            None => self.item.as_ref(),
        };
        item.map(|(index, item)| (*index, &**item))
    }

    /// Members of `steps` that the current action sees.
    pub fn step_members(&self) -> String {
        if let Some(step) = self.undo() {
            return step.members.to_string();
        }
        let finished = self.workflow.names_before(self.block, self.progress.action_index);
        self.steps.members(Some(&self.inherited), finished)
    }

    /// The context document, for the instance of that id on whose behalf it acts.
    pub fn context(&self, acting_id: &str, response: Option<&str>) -> String {
        let action_name = self.action_name();
        let place = Place {
            instance_id: acting_id,
            workflow_name: &self.workflow.name,
            workflow_version: self.version,
            action_name: &action_name,
            idempotency_key: &idempotency_key(acting_id, &action_name, 1),
            item: self.item_now(),
        };
        format!("{{{},{}}}", self.event.members(), place.members(&self.step_members(), response))
    }

    /// Number that the coming attempt has or will get.
    pub fn coming_attempt(&self) -> u32 {
        self.progress.attempt_no + u32::from(!self.numbered)
    }

    /// Gives the coming attempt its number, if it has none yet.
    pub fn number_attempt(&mut self, now: Time) {
        self.progress.attempt_no = self.coming_attempt();
        self.numbered = true;
        self.progress.first_try = *self.tried.get_or_insert(now);
    }

    /// Begins the current action, or the next undo, from its first attempt.
    pub fn begin_anew(&mut self) {
        let progress = &mut self.progress;
        (progress.retry_count, progress.attempt_no, progress.lost_count) = (0, 0, 0);
        progress.repeated = false;
        self.numbered = false;
        self.tried = None;
        self.course = Course::Open;
    }

    /// Notes how the current action ended, for the actions after it.
    pub fn note_step(&mut self, status: &str, output: Option<&str>) {
        if self.status != Status::Compensating {
            let name = self.action_name();
            self.steps.note(&name, status, output);
        }
    }
}

/// Id of instance number `number`; simulated ids begin with zeros, as no version of UUID does.
pub fn simulated_id(number: usize) -> String {
    format!("00000000-0000-0000-0000-{number:012}")
}

/// Id of event number `number`.
pub fn simulated_event_id(number: usize) -> String {
    format!("00000000-0000-0000-0001-{number:012}")
}
