//! The stage: instances, agenda, events and story, and the loop that takes one happening after the other.

use std::rc::Rc;

use chrono::{DateTime, TimeDelta, Utc};

use super::clock::{Agenda, Happening};
use super::event::Event;
use super::run::{Course, Run, simulated_event_id};
use super::story::{Kind, Line};
use super::{Database, Fault, MOST_STEPS, Settings, Subject};
use crate::flow::instance::Status;
use crate::flow::parse::mocks::GivenEvent;

type Time = DateTime<Utc>;

/// What a step of a simulation gives.
pub type Played<D, T = ()> = Result<T, Fault<<D as Database>::Error>>;

/// A simulation under way.
pub struct Play<'a, D: Database> {
    /// What answers questions.
    pub database: &'a mut D,
    /// What is played.
    pub subject: &'a Subject,
    /// What the server's settings say.
    pub settings: &'a Settings,
    /// All instances; the first is the workflow's own.
    pub runs: Vec<Run>,
    /// What happens when.
    pub agenda: Agenda,
    /// Events that have come, in order.
    pub events: Vec<Rc<Event>>,
    /// The virtual time.
    pub now: Time,
    begin: Time,
    steps: usize,
    event_ids: usize,
    story: Vec<Line>,
}

impl<'a, D: Database> Play<'a, D> {
    /// A simulation whose clock begins at `begin`.
    pub fn new(database: &'a mut D, subject: &'a Subject, settings: &'a Settings, begin: Time) -> Self {
        Play {
            database,
            subject,
            settings,
            runs: Vec::new(),
            agenda: Agenda::default(),
            events: Vec::new(),
            now: begin,
            begin,
            steps: 0,
            event_ids: 0,
            story: Vec::new(),
        }
    }

    /// Plays until nothing more happens.
    pub fn run(mut self) -> Played<D, Vec<Line>> {
        for (place, later) in self.subject.mocks.events.iter().enumerate() {
            let at = self.begin.checked_add_signed(later.after).unwrap_or(Time::MAX_UTC);
            self.agenda.enter(at, Happening::Event(place));
        }
        let begin = self.begin;
        let (event, workflow) = (self.given(&self.subject.event, begin)?, Rc::new(self.subject.workflow.clone()));
        self.add(Run::new(1, workflow, self.subject.version, event, begin), begin);
        while let Some((at, happening)) = self.agenda.next() {
            self.now = at;
            self.happen(happening)?;
        }
        self.tell_standstill();
        Ok(self.story)
    }

    fn happen(&mut self, happening: Happening) -> Played<D> {
        match happening {
            Happening::Look { run, look_no } if self.runs[run].look_no == look_no => {
                if run == 0 && look_no == 0 {
                    let event = self.runs[0].event.clone();
                    self.tell_event(&event, "ARRIVED", &self.subject.workflow.name);
                    self.events.push(event);
                }
                if self.runs[run].course == Course::Parked {
                    self.runs[run].course = Course::Open;
                }
                self.go_on(run)
            }
            Happening::Look { .. } => Ok(()),
            Happening::Answer(answer) => self.conclude(*answer),
            Happening::Event(place) => {
                let subject = self.subject;
                let Some(later) = subject.mocks.events.get(place) else { return Ok(()) };
                let event = self.given(&later.event, self.now)?;
                self.tell_event(&event, "ARRIVED", &subject.workflow.name);
                self.arrive(event)
            }
            Happening::Deadline(run) => self.meet_deadline(run),
        }
    }

    fn given(&mut self, given: &GivenEvent, at: Time) -> Played<D, Rc<Event>> {
        let id = self.next_event_id();
        Ok(Event::given(self.database, given, id, at)?)
    }

    /// An id for a new event that has none of its own.
    pub fn next_event_id(&mut self) -> String {
        self.event_ids += 1;
        simulated_event_id(self.event_ids)
    }

    /// Adds an instance, which begins at `at`.
    pub fn add(&mut self, run: Run, at: Time) -> usize {
        let number = self.runs.len();
        if let Some(deadline) = run.progress.deadline {
            self.agenda.enter(deadline, Happening::Deadline(number));
        }
        self.agenda.enter(at, Happening::Look { run: number, look_no: run.look_no });
        self.runs.push(run);
        number
    }

    /// Lets an instance be looked at again at that time; None = when others have changed something.
    pub fn park(&mut self, run: usize, until: Option<Time>) {
        let parked = &mut self.runs[run];
        parked.course = Course::Parked;
        parked.look_no += 1;
        let look_no = parked.look_no;
        if let Some(until) = until {
            self.agenda.enter(until.max(self.now), Happening::Look { run, look_no });
        }
    }

    /// Lets a parked instance look again now.
    pub fn signal(&mut self, run: usize) {
        if self.runs[run].course == Course::Parked {
            self.park(run, Some(self.now));
        }
    }

    /// Counts a step.
    pub fn count(&mut self) -> Played<D> {
        self.steps += 1;
        if self.steps > MOST_STEPS { Err(Fault::TooManySteps) } else { Ok(()) }
    }

    fn meet_deadline(&mut self, run: usize) -> Played<D> {
        let late = &self.runs[run];
        let due = late.progress.deadline.is_some_and(|deadline| deadline <= self.now);
        let waits = matches!(late.course, Course::Parked | Course::Open) && late.status != Status::Paused;
        if !due || !waits || late.ending.is_some() {
            return Ok(());
        }
        self.expire(run);
        self.go_on(run)
    }

    /// A line about an instance, to be completed.
    pub fn line(&self, run: usize, kind: Kind, subject: String, status: &str) -> Line {
        Line { path: self.runs[run].path.clone(), ..self.bare_line(kind, subject, status) }
    }

    fn bare_line(&self, kind: Kind, subject: String, status: &str) -> Line {
        Line {
            at: self.now - self.begin,
            path: String::new(),
            kind,
            subject,
            status: status.to_owned(),
            attempt_no: None,
            error_code: None,
            detail: String::new(),
            cost_ms: None,
            request: None,
            output: None,
        }
    }

    /// Tells something.
    pub fn tell(&mut self, line: Line) {
        self.story.push(line);
    }

    /// Tells of an event.
    pub fn tell_event(&mut self, event: &Event, status: &str, path: &str) {
        let detail = format!("event {} for {}", event.id, event.biz_key);
        let line = self.bare_line(Kind::Event, event.event_type.clone(), status);
        let output = (status == "EMITTED").then(|| event.payload.to_string());
        self.tell(Line { path: path.to_owned(), detail, output, ..line });
    }

    /// Says of an instance that has not ended that it will not by itself.
    fn tell_standstill(&mut self) {
        let still = |run: &&Run| run.end.is_none() && run.status != Status::Paused;
        let Some(first) = self.runs.first().filter(still) else { return };
        let detail = match self.runs.iter().any(|run| run.status == Status::Paused) {
            true => "nothing more happens until a person decides",
            false => "nothing more happens: what it waits for does not come",
        };
        let line = self.line(0, Kind::Status, first.workflow.name.clone(), first.status.as_str());
        self.tell(Line { detail: detail.to_owned(), ..line });
    }
}

/// A length of time for people.
pub fn spell(length: TimeDelta) -> String {
    let ms = length.num_milliseconds();
    if ms % 1_000 == 0 { format!("{} s", ms / 1_000) } else { format!("{ms} ms") }
}
