//! Tests of the bookkeeping of lanes.

use super::*;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(second, 0).unwrap_or_default()
}

#[test]
fn a_lane_never_gets_more_places_than_its_bound() {
    let mut lanes = Lanes::new(2, 99);
    let lane = lanes.name("a");
    let mut ledger = Ledger::default();
    assert!(ledger.try_take(&lanes, &lane, 10));
    assert!(ledger.try_take(&lanes, &lane, 10));
    assert!(!ledger.try_take(&lanes, &lane, 10));
    ledger.free(&lane);
    assert!(ledger.try_take(&lanes, &lane, 10));
    ledger.apply(&mut lanes);
    assert_eq!((lanes.room("a"), lanes.in_flight), (0, 2));
}

#[test]
fn lost_instances_run_one_at_a_time() {
    assert_eq!(Lanes::new(64, 99).room(SOLO), 1);
}

#[test]
fn a_due_lane_without_room_does_not_wake_the_worker() {
    let mut lanes = Lanes::new(1, 99);
    let lane = lanes.name("a");
    lanes.await_due("a", at(5));
    assert_eq!(lanes.next_wake(true), Some(at(5)));
    lanes.take_off(&lane);
    assert_eq!((lanes.next_wake(true), lanes.due(at(9), &Ledger::default(), 10).len()), (None, 0));
}

#[test]
fn every_due_lane_gets_a_place_before_any_gets_all() {
    let mut lanes = Lanes::new(100, 999);
    for lane in ["a", "b", "c"] {
        lanes.await_due(lane, at(1));
    }
    let due = lanes.due(at(1), &Ledger::default(), 9);
    assert_eq!(due.iter().map(|(_, room)| *room).collect::<Vec<_>>(), [3, 3, 3]);
    assert_eq!(lanes.due(at(1), &Ledger::default(), 2).len(), 2);
}

#[test]
fn stuck_lanes_leave_threads_for_the_next_one() {
    let mut lanes = Lanes::new(64, 256);
    let mut got = Vec::new();
    for stuck in 0..9 {
        let lane = lanes.name(&format!("stuck{stuck}"));
        lanes.await_due(&lane, at(1));
        lanes.begin_turn(at(1));
        let mut ledger = Ledger::default();
        while ledger.try_take(&lanes, &lane, 512) {}
        ledger.apply(&mut lanes);
        got.push(lanes.by_name[&lane].in_flight);
    }
    assert_eq!(got, [64, 64, 64, 32, 16, 8, 4, 2, 1]);
    let healthy = lanes.name("healthy");
    lanes.begin_turn(at(1));
    assert!(lanes.room(&healthy) >= 1);
}

#[test]
fn a_lane_alone_may_fill_the_pool_and_more() {
    let mut lanes = Lanes::new(1024, 32);
    let lane = lanes.name("only");
    lanes.await_due(&lane, at(1));
    lanes.begin_turn(at(1));
    let mut ledger = Ledger::default();
    while ledger.try_take(&lanes, &lane, 288) {}
    assert_eq!(ledger.held(&lanes), 288);
}

#[test]
fn a_worker_that_leaves_moves_only_its_own_lanes() {
    let lanes: Vec<String> = (0..200).map(|n| format!("http://host{n}:80")).collect();
    for lane in &lanes {
        let before = server(lane, &[0, 1, 2]);
        let after = server(lane, &[0, 2]);
        assert!(before == Some(1) || before == after);
    }
}

#[test]
fn the_percentile_is_of_the_recent_attempts() {
    let mut lanes = Lanes::new(1, 99);
    let lane = lanes.name("a");
    for ms in 1..=100 {
        lanes.note(&lane, true, false, Duration::from_millis(ms));
    }
    let report = lanes.take_changed();
    assert_eq!(report[0].1.p95_ms, Some(95));
    assert!(lanes.take_changed().is_empty());
}
