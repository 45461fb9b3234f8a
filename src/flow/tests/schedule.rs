//! Ticks against an enumeration of real time, minute by minute, and which of the due ones fire.

use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;

use crate::flow::schedule::{CatchUp, MOST_COUNTED, Policy, ScheduleError, Tick, Timer};

const ZONES: [&str; 7] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Asia/Kathmandu",
    "Africa/Casablanca",
];

/// When the clocks of these zones change in a leap year.
const SEASONS: [(&str, &str); 2] =
    [("2028-02-24T12:00:00Z", "2028-04-12T00:00:00Z"), ("2028-08-30T12:00:00Z", "2028-11-08T00:00:00Z")];

fn utc(text: &str) -> DateTime<Utc> {
    text.parse().expect("a time")
}

fn timer(cron: &str, zone: &str) -> Timer {
    Timer::parse(cron, zone).expect("a schedule")
}

fn ticks(timer: &Timer, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let next = |tick: &DateTime<Utc>| timer.next_after(*tick);
    std::iter::successors(timer.next_after(from), next).take_while(|tick| *tick <= to).collect()
}

fn ticks_backwards(timer: &Timer, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let before = |tick: &DateTime<Utc>| timer.last_until(*tick - TimeDelta::seconds(1));
    let mut all: Vec<_> = std::iter::successors(timer.last_until(to), before).take_while(|tick| *tick > from).collect();
    all.reverse();
    all
}

/// Whether a clock that shows this is at a tick.
type Matches = fn(NaiveDateTime) -> bool;

/// Walks real time: an interval ticks whenever the clock shows a match.
fn interval_by_walking(zone: Tz, from: DateTime<Utc>, to: DateTime<Utc>, matches: Matches) -> Vec<DateTime<Utc>> {
    minutes(from, to).filter(|minute| matches(minute.with_timezone(&zone).naive_local())).collect()
}

/// Walks real time: a time of day ticks when the clock first reaches or passes it.
fn times_of_day_by_walking(zone: Tz, from: DateTime<Utc>, to: DateTime<Utc>, matches: Matches) -> Vec<DateTime<Utc>> {
    let mut shown = from.with_timezone(&zone).naive_local();
    let mut found = Vec::new();
    for minute in minutes(from, to) {
        let clock = minute.with_timezone(&zone).naive_local();
        let mut passed = false;
        while shown < clock {
            shown += TimeDelta::minutes(1);
            passed |= matches(shown);
        }
        if passed {
            found.push(minute);
        }
    }
    found
}

fn minutes(from: DateTime<Utc>, to: DateTime<Utc>) -> impl Iterator<Item = DateTime<Utc>> {
    (1..=(to - from).num_minutes()).map(move |minute| from + TimeDelta::minutes(minute))
}

const TIMES_OF_DAY: [(&str, Matches); 9] = [
    ("30 2 * * *", |t| (t.hour(), t.minute()) == (2, 30)),
    ("0 0 * * *", |t| (t.hour(), t.minute()) == (0, 0)),
    ("0 1 * * *", |t| (t.hour(), t.minute()) == (1, 0)),
    ("15,45 2 * * *", |t| t.hour() == 2 && [15, 45].contains(&t.minute())),
    ("0 1-4,14 * * *", |t| t.minute() == 0 && [1, 2, 3, 4, 14].contains(&t.hour())),
    ("15 2 * * MON-FRI", |t| (t.hour(), t.minute()) == (2, 15) && t.weekday().num_days_from_monday() < 5),
    ("0 12 L * *", |t| (t.hour(), t.minute()) == (12, 0) && (t + TimeDelta::days(1)).day() == 1),
    ("0 8 29 2 *", |t| (t.month(), t.day(), t.hour(), t.minute()) == (2, 29, 8, 0)),
    ("30 1 1 1,4 MON", |t| {
        let day = t.day() == 1 || t.weekday().num_days_from_monday() == 0;
        day && [1, 4].contains(&t.month()) && (t.hour(), t.minute()) == (1, 30)
    }),
];

const INTERVALS: [(&str, Matches); 6] = [
    ("*/10 * * * *", |t| t.minute() % 10 == 0),
    ("*/15 * * * *", |t| t.minute() % 15 == 0),
    ("0 * * * *", |t| t.minute() == 0),
    ("5 */2 * * *", |t| t.minute() == 5 && t.hour() % 2 == 0),
    ("*/40 * * * *", |t| [0, 40].contains(&t.minute())),
    ("*/20 2 * * SUN", |t| t.minute() % 20 == 0 && t.hour() == 2 && t.weekday().num_days_from_sunday() == 0),
];

/// An enumeration of the ticks between two times.
type Walk = fn(Tz, DateTime<Utc>, DateTime<Utc>, Matches) -> Vec<DateTime<Utc>>;

fn compare(expressions: &[(&str, Matches)], walk: Walk) {
    for (from, to) in SEASONS.map(|(from, to)| (utc(from), utc(to))) {
        for zone in ZONES {
            for (cron, matches) in expressions {
                let expected = walk(zone.parse().expect("a zone"), from, to, *matches);
                let timer = timer(cron, zone);
                assert_eq!(ticks(&timer, from, to), expected, "{cron} in {zone}");
                assert_eq!(ticks_backwards(&timer, from, to), expected, "{cron} in {zone}, backwards");
            }
        }
    }
}

#[test]
fn times_of_day_come_once_a_day_over_every_change_of_the_clock() {
    compare(&TIMES_OF_DAY, times_of_day_by_walking);
}

#[test]
fn intervals_go_on_evenly_over_every_change_of_the_clock() {
    compare(&INTERVALS, interval_by_walking);
}

#[test]
fn from_any_moment_the_neighbours_are_the_same() {
    for (zone, day) in [("Europe/Berlin", "2028-10-28T22:00:00Z"), ("Australia/Lord_Howe", "2028-04-01T10:00:00Z")] {
        for (cron, walk) in [("30 2 * * *", true), ("*/10 * * * *", false)] {
            let (timer, from) = (timer(cron, zone), utc(day));
            let all = ticks(&timer, from - TimeDelta::days(2), from + TimeDelta::days(2));
            for second in (0..=8 * 3600).step_by(if walk { 7 } else { 61 }) {
                let moment = from + TimeDelta::milliseconds(second * 1000 + 500);
                assert_eq!(timer.next_after(moment), all.iter().find(|tick| **tick > moment).copied(), "{moment}");
                assert_eq!(timer.last_until(moment), all.iter().rfind(|tick| **tick <= moment).copied(), "{moment}");
            }
        }
    }
}

#[test]
fn a_time_of_day_in_the_gap_comes_at_its_end() {
    let timer = timer("30 2 * * *", "Europe/Berlin");
    let days = ticks(&timer, utc("2026-03-28T00:00:00Z"), utc("2026-03-30T23:00:00Z"));
    assert_eq!(days, ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"].map(utc));
}

#[test]
fn a_time_of_day_that_the_clock_shows_twice_comes_the_first_time() {
    let timer = timer("30 2 * * *", "Europe/Berlin");
    let days = ticks(&timer, utc("2026-10-24T12:00:00Z"), utc("2026-10-26T12:00:00Z"));
    assert_eq!(days, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"].map(utc));
}

#[test]
fn several_times_in_one_gap_are_one_tick() {
    let timer = timer("0,15,30,45 2 * * *", "America/New_York");
    let day = ticks(&timer, utc("2026-03-08T05:00:00Z"), utc("2026-03-08T23:00:00Z"));
    assert_eq!(day, [utc("2026-03-08T07:00:00Z")]);
}

#[test]
fn seconds_go_first_when_there_are_six_fields() {
    let timer = timer("*/20 * * * * *", "UTC");
    assert_eq!(timer.next_after(utc("2026-01-01T00:00:19.5Z")), Some(utc("2026-01-01T00:00:20Z")));
    assert_eq!(timer.next_after(utc("2026-01-01T00:00:20Z")), Some(utc("2026-01-01T00:00:40Z")));
    assert_eq!(timer.last_until(utc("2026-01-01T00:00:20Z")), Some(utc("2026-01-01T00:00:20Z")));
}

#[test]
fn the_leap_day_is_found_over_a_century_without_one() {
    let timer = timer("0 0 29 2 *", "UTC");
    assert_eq!(timer.next_after(utc("2096-03-01T00:00:00Z")), Some(utc("2104-02-29T00:00:00Z")));
}

#[test]
fn dates_that_never_come_are_known() {
    for cron in ["0 0 30 2 *", "0 0 31 4,6 *", "0 0 0 1 1 * 2020", "0 0 31W 2 *", "* * 30 2 *", "0 , * * *"] {
        for zone in ZONES {
            assert_eq!(timer(cron, zone).next_after(utc("2026-01-01T00:00:00Z")), None, "{cron}");
        }
    }
}

#[test]
fn a_schedule_may_end() {
    let timer = timer("0 0 12 1 1 * 2027", "UTC");
    assert_eq!(timer.next_after(utc("2026-06-01T00:00:00Z")), Some(utc("2027-01-01T12:00:00Z")));
    let plan = timer.plan(utc("2027-01-01T12:00:00Z"), utc("2027-01-01T12:00:01Z"), policy(CatchUp::One));
    assert_eq!(plan.fire, [Tick { time: utc("2027-01-01T12:00:00Z"), missed: 0 }]);
    assert_eq!(plan.next, None);
}

#[test]
fn what_is_no_schedule_is_refused() {
    let long = "1,".repeat(5_000);
    for cron in ["", " ", "* * * *", "60 * * * *", "5-1 * * * *", "0 24 * * *", "*/0 * * * *", "@reboot", "x", &long] {
        assert!(Timer::parse(cron, "UTC").is_err(), "{cron:?}");
    }
    let zone = |name| Timer::parse("* * * * *", name).expect_err("no zone").to_string();
    assert_eq!(zone("Europe/Berln"), "\"Europe/Berln\" is no time zone, did you mean \"Europe/Berlin\"?");
    assert_eq!(zone("europe/berlin"), "\"europe/berlin\" is no time zone, did you mean \"Europe/Berlin\"?");
    assert_eq!(zone("Middle-earth"), "\"Middle-earth\" is no time zone");
    assert_eq!("some".parse::<CatchUp>(), Err(ScheduleError::CatchUp("some".into())));
}

fn policy(catch_up: CatchUp) -> Policy {
    Policy { catch_up, limit: 3, grace: TimeDelta::seconds(60) }
}

fn hours(day: &str, hours: &[(u32, u64)]) -> Vec<Tick> {
    let tick = |(hour, missed): &(u32, u64)| Tick { time: utc(&format!("{day}T{hour:02}:00:00Z")), missed: *missed };
    hours.iter().map(tick).collect()
}

#[test]
fn after_a_downtime_the_policy_says_which_ticks_fire() {
    let timer = timer("0 * * * *", "UTC");
    let (from, noon) = (utc("2026-05-01T05:00:00Z"), utc("2026-05-01T12:00:30Z"));
    let next = Some(utc("2026-05-01T13:00:00Z"));
    for (catch_up, fire, misfires) in [
        (CatchUp::Skip, hours("2026-05-01", &[(12, 7)]), 7),
        (CatchUp::One, hours("2026-05-01", &[(12, 7)]), 7),
        (CatchUp::All, hours("2026-05-01", &[(10, 5), (11, 0), (12, 0)]), 5),
    ] {
        let plan = timer.plan(from, noon, policy(catch_up));
        assert_eq!((plan.fire, plan.misfires, plan.next), (fire, misfires, next), "{catch_up:?}");
    }
    let late = noon + TimeDelta::minutes(20);
    for (catch_up, fire, misfires) in [
        (CatchUp::Skip, vec![], 8),
        (CatchUp::One, hours("2026-05-01", &[(12, 7)]), 7),
        (CatchUp::All, hours("2026-05-01", &[(10, 5), (11, 0), (12, 0)]), 5),
    ] {
        let plan = timer.plan(from, late, policy(catch_up));
        assert_eq!((plan.fire, plan.misfires, plan.next), (fire, misfires, next), "{catch_up:?}");
    }
}

#[test]
fn ticks_that_are_only_a_little_late_all_fire() {
    let timer = timer("* * * * * *", "UTC");
    let (from, now) = (utc("2026-05-01T05:00:00Z"), utc("2026-05-01T05:00:09.9Z"));
    for catch_up in [CatchUp::Skip, CatchUp::One, CatchUp::All] {
        let plan = timer.plan(from, now, policy(catch_up));
        let expected = (0..10).map(|second| Tick { time: from + TimeDelta::seconds(second), missed: 0 });
        assert_eq!(plan.fire, expected.collect::<Vec<_>>());
        assert_eq!((plan.misfires, plan.next), (0, Some(from + TimeDelta::seconds(10))));
    }
}

#[test]
fn a_clock_that_went_back_fires_nothing() {
    let timer = timer("0 * * * *", "UTC");
    let plan = timer.plan(utc("2026-05-01T05:00:00Z"), utc("2026-05-01T03:30:00Z"), policy(CatchUp::All));
    assert_eq!((plan.fire, plan.misfires), (vec![], 0));
}

#[test]
fn of_a_year_of_missed_seconds_only_the_latest_are_counted() {
    let (from, now) = (utc("2025-05-01T05:00:00Z"), utc("2026-05-01T05:00:00Z"));
    let plan = timer("* * * * * *", "Europe/Berlin").plan(from, now, policy(CatchUp::All));
    assert_eq!(plan.fire.len(), 3);
    assert_eq!(plan.misfires, MOST_COUNTED as u64 - 3);
    let only_once = timer("0 0 12 1 5 * 2025", "Europe/Berlin").plan(from, now, policy(CatchUp::One));
    assert_eq!((only_once.fire.len(), only_once.next), (1, None));
}
