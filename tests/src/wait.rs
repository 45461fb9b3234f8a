//! The one way to wait in a test: a condition, a deadline, and a name for both.

use std::time::{Duration, Instant};

/// Deadline for everything that normally happens within a second. It is long
/// because the tests share their machine with builds; no test waits it out
/// unless it fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Time between two looks at a condition.
const INTERVAL: Duration = Duration::from_millis(20);

/// Waits until `condition` holds and returns how long that took.
///
/// # Panics
/// If it does not hold within `deadline`; `what` is then named.
pub fn wait_until(deadline: Duration, what: &str, mut condition: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    loop {
        if condition() {
            return start.elapsed();
        }
        assert!(start.elapsed() < deadline, "waited {deadline:?} in vain until {what}");
        std::thread::sleep(INTERVAL);
    }
}

/// Looks for `time` whether `condition` goes on to hold: for what must not happen.
///
/// # Panics
/// If it does not hold at some moment; `what` is then named.
pub fn holds_for(time: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while start.elapsed() < time {
        assert!(condition(), "{what}: no longer after {:?}", start.elapsed());
        std::thread::sleep(INTERVAL);
    }
}

/// Lets `time` pass between two moves of somebody who makes load; never a way to wait for something.
pub fn pace(time: Duration) {
    std::thread::sleep(time);
}
