//! The measurements, each with its conditions. Figures that users know from
//! other products come first.

mod branches;
mod drain;
mod enqueue;
mod latency;
mod memory;
mod peer;
mod starvation;

use anyhow::Result;

use crate::figure::Figure;
use crate::rig::Rig;

/// A measurement: its name on the command line, and what it does.
pub type Measurement = (&'static str, fn(&Rig) -> Result<Vec<Figure>>);

/// All measurements, in the order of the table.
pub const ALL: [Measurement; 7] = [
    ("drain", drain::measure),
    ("slow", drain::measure_slow),
    ("latency", latency::measure),
    ("enqueue", enqueue::measure),
    ("starvation", starvation::measure),
    ("memory", memory::measure),
    ("branches", branches::measure),
];
