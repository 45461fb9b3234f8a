//! What happens when: an agenda in order of time, and of entry at the same time.
//!
//! Deadlines come after everything else of their time, those of inner instances first, as each ends what is below it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::call::Answer;

type Time = DateTime<Utc>;

/// Something that happens.
#[derive(Debug)]
pub enum Happening {
    /// An instance is looked at again; stale when its number of looks has moved on.
    Look {
        /// The instance.
        run: usize,
        /// The look that was planned.
        look_no: u32,
    },
    /// An attempt has ended.
    Answer(Box<Answer>),
    /// An event of the mocks comes.
    Event(usize),
    /// An instance has to be over.
    Deadline(usize),
}

/// The agenda.
#[derive(Debug, Default)]
pub struct Agenda {
    entries: BTreeMap<(Time, u8, Reverse<usize>, u64), Happening>,
    next: u64,
}

impl Agenda {
    /// Enters something; what lies at the end of time never happens.
    pub fn enter(&mut self, at: Time, happening: Happening) {
        if at == Time::MAX_UTC {
            return;
        }
        self.next += 1;
        let (rank, inner) = match &happening {
            Happening::Deadline(run) => (1, *run),
            Happening::Look { .. } | Happening::Answer(_) | Happening::Event(_) => (0, 0),
        };
        self.entries.insert((at, rank, Reverse(inner), self.next), happening);
    }

    /// Takes the next entry.
    pub fn next(&mut self) -> Option<(Time, Happening)> {
        self.entries.pop_first().map(|(key, happening)| (key.0, happening))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Time {
        DateTime::from_timestamp(second, 0).unwrap_or_default()
    }

    #[test]
    fn the_earlier_comes_first_then_the_one_that_was_entered_first_and_deadlines_last() {
        let mut agenda = Agenda::default();
        agenda.enter(at(2), Happening::Event(0));
        agenda.enter(at(1), Happening::Deadline(1));
        agenda.enter(at(1), Happening::Deadline(2));
        agenda.enter(at(1), Happening::Event(3));
        agenda.enter(at(1), Happening::Event(4));
        agenda.enter(Time::MAX_UTC, Happening::Event(5));
        let order = std::iter::from_fn(|| agenda.next()).map(|(_, happening)| match happening {
            Happening::Event(number) | Happening::Deadline(number) => number,
            Happening::Look { run, .. } => run,
            Happening::Answer(_) => 9,
        });
        assert_eq!(order.collect::<Vec<_>>(), [3, 4, 2, 1, 0]);
    }
}
