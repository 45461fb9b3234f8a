//! Schedules: which ticks a cron expression has in a time zone, and which of the due ones fire.
//!
//! croner parses and searches; daylight saving is decided here. An expression without `*` and `/` in its seconds,
//! minutes and hours names times of day: each comes once a day, at the first of two equal clock readings, and a time
//! that the clock leaves out comes at the first moment after the gap. Any other names an interval: it goes on evenly
//! through both equal hours and has nothing in a gap. Times are whole seconds; nothing here reads a clock.

use chrono::{DateTime, LocalResult, NaiveDateTime, SubsecRound, TimeDelta, TimeZone, Timelike, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::errors::CronError;
use std::str::FromStr;
use thiserror::Error;

/// Longest cron expression, in bytes.
pub const MOST_BYTES: usize = 255;
/// Ticks that are counted after a downtime; of more, the latest ones.
pub const MOST_COUNTED: usize = 10_000;
/// Minutes looked at for the end of a gap; the longest ever, at the date line, was a day.
const MOST_GAP_MINUTES: i64 = 25 * 60;

/// Why a schedule is refused.
#[derive(Debug, Error, PartialEq)]
pub enum ScheduleError {
    /// The expression cannot be read.
    #[error("\"{text}\" cannot be read: {problem}")]
    Cron {
        /// The expression.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The expression is longer than [`MOST_BYTES`].
    #[error("is longer than {MOST_BYTES} bytes")]
    TooLong,
    /// There is no such time zone.
    #[error("\"{name}\" is no time zone{}", near.map(|near| format!(", did you mean \"{near}\"?")).unwrap_or_default())]
    TimeZone {
        /// The name as given.
        name: String,
        /// A name that looks alike.
        near: Option<&'static str>,
    },
    /// What to do with missed ticks is none of the three words.
    #[error("must be skip, one or all, not \"{0}\"")]
    CatchUp(String),
}

/// What happens to ticks that came while nothing could fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatchUp {
    /// They are left out.
    Skip,
    /// The latest due tick stands for all of them.
    One,
    /// Each fires, the latest ones if there are more than the limit.
    All,
}

impl FromStr for CatchUp {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<CatchUp, ScheduleError> {
        match text {
            "skip" => Ok(CatchUp::Skip),
            "one" => Ok(CatchUp::One),
            "all" => Ok(CatchUp::All),
            other => Err(ScheduleError::CatchUp(other.to_owned())),
        }
    }
}

/// A tick that fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Its time.
    pub time: DateTime<Utc>,
    /// How many ticks right before it did not fire.
    pub missed: u64,
}

/// What to do about the due ticks.
#[derive(Debug, PartialEq)]
pub struct Plan {
    /// The ticks that fire, in order.
    pub fire: Vec<Tick>,
    /// Ticks that never will; at most [`MOST_COUNTED`] are counted.
    pub misfires: u64,
    /// The next tick; `None` when there is none any more.
    pub next: Option<DateTime<Utc>>,
}

/// How missed ticks are caught up.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// What happens to them.
    pub catch_up: CatchUp,
    /// Events at most in a catch-up, from 1.
    pub limit: usize,
    /// Age from which on a tick counts as missed.
    pub grace: TimeDelta,
}

/// A cron expression in a time zone.
#[derive(Debug)]
pub struct Timer {
    cron: Cron,
    zone: Tz,
    names_times_of_day: bool,
}

impl Timer {
    /// Reads both. Fields: (seconds) minutes hours day-of-month month day-of-week (year), or a nickname like `@daily`.
    pub fn parse(cron: &str, timezone: &str) -> Result<Timer, ScheduleError> {
        if cron.len() > MOST_BYTES {
            return Err(ScheduleError::TooLong);
        }
        let zone = Tz::from_str(timezone).map_err(|_| unknown_zone(timezone))?;
        let cron = Cron::from_str(cron)
            .map_err(|error| ScheduleError::Cron { text: cron.to_owned(), problem: problem(error) })?;
        let fields = [&cron.pattern.seconds, &cron.pattern.minutes, &cron.pattern.hours];
        let names_times_of_day = fields.iter().all(|field| !field.from_wildcard && field.step == 1);
        Ok(Timer { cron, zone, names_times_of_day })
    }

    /// The first tick after a moment; `None` when none comes any more.
    pub fn next_after(&self, moment: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let local = moment.trunc_subsecs(0).with_timezone(&self.zone);
        if !self.names_times_of_day {
            return self.cron.find_next_occurrence(&local, false).ok().map(|tick| tick.with_timezone(&Utc));
        }
        let mut wall = local.naive_local();
        loop {
            wall = self.cron.find_next_occurrence(&wall, false).ok()?;
            let tick = self.instant(wall)?;
            if tick > moment {
                return Some(tick);
            }
        }
    }

    /// The last tick up to a moment, itself included.
    pub fn last_until(&self, moment: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let local = moment.trunc_subsecs(0).with_timezone(&self.zone);
        if !self.names_times_of_day {
            return self.cron.find_previous_occurrence(&local, true).ok().map(|tick| tick.with_timezone(&Utc));
        }
        let mut wall = local.naive_local();
        if matches!(self.zone.from_local_datetime(&wall), LocalResult::Ambiguous(..)) {
            // At the second of two equal clock readings the first pass has shown later ones already.
            wall += TimeDelta::days(1);
        }
        loop {
            wall = self.cron.find_previous_occurrence(&wall, true).ok()?;
            let tick = self.instant(wall)?;
            if tick <= moment {
                return Some(tick);
            }
            wall -= TimeDelta::seconds(1);
        }
    }

    /// When the clock first shows this, or where it goes on when it never does.
    fn instant(&self, wall: NaiveDateTime) -> Option<DateTime<Utc>> {
        let whole_minute = wall.with_second(0)?;
        let candidates = (1..=MOST_GAP_MINUTES).map(|minute| whole_minute + TimeDelta::minutes(minute));
        std::iter::once(wall)
            .chain(candidates)
            .find_map(|wall| self.zone.from_local_datetime(&wall).earliest())
            .map(|instant| instant.with_timezone(&Utc))
    }

    /// The ticks from `from` to `now`, in order; the latest [`MOST_COUNTED`] if there are more.
    fn between(&self, from: DateTime<Utc>, now: DateTime<Utc>) -> Vec<DateTime<Utc>> {
        let before = |tick: &DateTime<Utc>| self.last_until(*tick - TimeDelta::seconds(1));
        let mut ticks: Vec<_> = std::iter::successors(self.last_until(now), before)
            .take_while(|tick| *tick >= from)
            .take(MOST_COUNTED)
            .collect();
        ticks.reverse();
        ticks
    }

    /// Which of the ticks that are due since `from` fire, and when the next one comes. Without a missed tick all due
    /// ones do: a worker that is a little late leaves nothing out, whatever the policy.
    pub fn plan(&self, from: DateTime<Utc>, now: DateTime<Utc>, policy: Policy) -> Plan {
        let due = self.between(from, now);
        let late = due.partition_point(|tick| *tick < now - policy.grace);
        let left_out = match policy.catch_up {
            _ if late == 0 => 0,
            CatchUp::Skip => late,
            CatchUp::One => due.len() - 1,
            CatchUp::All => due.len().saturating_sub(policy.limit),
        };
        let missed = |index| if index == 0 { left_out as u64 } else { 0 };
        let fire = due[left_out..].iter().enumerate().map(|(index, time)| Tick { time: *time, missed: missed(index) });
        Plan { fire: fire.collect(), misfires: left_out as u64, next: self.next_after(now) }
    }
}

fn problem(error: CronError) -> String {
    let text = match error {
        CronError::EmptyPattern => "it is empty".to_owned(),
        CronError::InvalidPattern(text) | CronError::IllegalCharacters(text) | CronError::ComponentError(text) => text,
        other => other.to_string(),
    };
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn unknown_zone(name: &str) -> ScheduleError {
    let near = chrono_tz::TZ_VARIANTS
        .iter()
        .map(|zone| (strsim::jaro_winkler(&zone.name().to_lowercase(), &name.to_lowercase()), zone.name()))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.9)
        .map(|(_, name)| name);
    ScheduleError::TimeZone { name: name.to_owned(), near }
}
