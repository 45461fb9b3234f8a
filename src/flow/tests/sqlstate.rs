//! SQLSTATEs and what they mean for another try.

use std::time::Duration;

use crate::flow::outcome::Class;
use crate::flow::sqlstate::{class_of, failure};

#[test]
fn an_sqlstate_says_whether_another_try_may_succeed() {
    let again = [
        "40001", "40P01", "40003", "55P03", "55006", "08000", "08006", "53000", "53100", "53200", "53300", "53400",
        "57014", "57P01", "57P02", "57P03", "57P05", "58000", "58030", "58P01", "72000", "RE001",
    ];
    let never = [
        "22012", "22023", "22P02", "23502", "23503", "23505", "23514", "25006", "25P02", "26000", "2BP01", "34000",
        "3F000", "40000", "40002", "42501", "42883", "42P01", "44000", "54000", "55000", "55P02", "57000", "P0001",
        "P0004", "XX000", "RE000", "RE002", "0A000", "", "é",
    ];
    assert!(again.iter().all(|state| class_of(state) == Class::Retry));
    for state in never {
        assert_eq!(class_of(state), Class::Permanent, "{state}");
    }
}

#[test]
fn the_code_of_a_failure_is_its_sqlstate() {
    let failed = failure("23505", "duplicate key value", Some("retry after 30 s"));
    assert_eq!((failed.code.as_str(), failed.class, failed.retry_after), ("23505", Class::Permanent, None));
}

#[test]
fn a_function_says_when_it_wants_to_be_tried_again() {
    let after = |hint| failure("RE001", "stock is being counted", Some(hint)).retry_after;
    let cases = [
        ("retry after 30 s", Some(30_000)),
        ("Retry after 30", Some(30_000)),
        ("Please retry after 1.5 seconds.", Some(1_500)),
        ("retry after 250 ms", Some(250)),
        ("retry after 2 min", Some(120_000)),
        ("retry after 1h", Some(3_600_000)),
        ("retry after 30.", Some(30_000)),
        ("retry after -3 s", None),
        ("retry after a while", None),
        ("try again", None),
        ("", None),
    ];
    for (hint, milliseconds) in cases {
        assert_eq!(after(hint), milliseconds.map(Duration::from_millis), "{hint}");
    }
    assert_eq!(after("retry after 99999999999999999999999999 h"), Some(Duration::MAX));
    assert_eq!(failure("RE001", "later", None).retry_after, None);
}
