//! What is different between two definitions, told by where it stands.
//!
//! Lists of named things (actions, above all) are matched by name, so that an action put in front does not make every
//! other one look changed; all other lists are matched by position. Values are compared as they are written.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use crate::flow::problem::pointer_to;

/// One difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where it stands (RFC 6901): in the new document, or in the old one for what was removed.
    pub pointer: String,
    /// What happened there.
    pub change: Change,
    /// The innermost action around it; None outside of the actions.
    pub action: Option<String>,
    /// The value before; the position for what was moved. None for what was added.
    pub old: Option<Value>,
    /// The value after; the position for what was moved. None for what was removed.
    pub new: Option<Value>,
}

/// What happened to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// It is another one.
    Changed,
    /// The thing of that name stands elsewhere in its list.
    Moved,
}

impl Change {
    /// The word that `diff_workflow` shows.
    pub fn as_str(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Changed => "changed",
            Change::Moved => "moved",
        }
    }
}

/// Every difference, in the order of the new document; members of objects by name.
pub fn differences(old: &Value, new: &Value) -> Vec<Difference> {
    let mut found = Found::default();
    found.compare("", None, old, new);
    found.rows
}

#[derive(Default)]
struct Found {
    rows: Vec<Difference>,
}

impl Found {
    fn compare(&mut self, place: &str, action: Option<&str>, old: &Value, new: &Value) {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => self.objects(place, action, old, new),
            (Value::Array(old), Value::Array(new)) => match (by_name(old), by_name(new)) {
                (Some(old), Some(new)) => self.named(place, action, &old, &new),
                _ => self.positions(place, action, old, new),
            },
            _ if old == new => {}
            _ => self.add(place.to_owned(), Change::Changed, action, Some(old.clone()), Some(new.clone())),
        }
    }

    fn objects(&mut self, place: &str, action: Option<&str>, old: &Map<String, Value>, new: &Map<String, Value>) {
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for key in keys {
            self.both(&pointer_to(place, key), action, old.get(key), new.get(key));
        }
    }

    fn positions(&mut self, place: &str, action: Option<&str>, old: &[Value], new: &[Value]) {
        for index in 0..old.len().max(new.len()) {
            self.both(&pointer_to(place, index), action, old.get(index), new.get(index));
        }
    }

    fn both(&mut self, place: &str, action: Option<&str>, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (Some(old), Some(new)) => self.compare(place, action, old, new),
            (Some(old), None) => self.add(place.to_owned(), Change::Removed, action, Some(old.clone()), None),
            (None, Some(new)) => self.add(place.to_owned(), Change::Added, action, None, Some(new.clone())),
            (None, None) => {}
        }
    }

    fn named(&mut self, place: &str, action: Option<&str>, old: &[Named<'_>], new: &[Named<'_>]) {
        let places: HashMap<&str, usize> = old.iter().enumerate().map(|(index, (name, _))| (*name, index)).collect();
        let kept: BTreeSet<&str> = new.iter().map(|(name, _)| *name).filter(|name| places.contains_key(name)).collect();
        for (index, (name, value)) in old.iter().enumerate().filter(|(_, (name, _))| !kept.contains(name)) {
            let action = label(name, value).or(action);
            self.add(pointer_to(place, index), Change::Removed, action, Some((*value).clone()), None);
        }
        let before: Vec<Option<usize>> = new.iter().map(|(name, _)| places.get(name).copied()).collect();
        let steady = steady(&before);
        for (index, (name, value)) in new.iter().enumerate() {
            let (place, action) = (pointer_to(place, index), label(name, value).or(action));
            let Some(at) = before[index] else {
                self.add(place, Change::Added, action, None, Some((*value).clone()));
                continue;
            };
            if !steady.contains(&at) {
                self.add(place.clone(), Change::Moved, action, Some(at.into()), Some(index.into()));
            }
            self.compare(&place, action, old[at].1, value);
        }
    }

    fn add(&mut self, pointer: String, change: Change, action: Option<&str>, old: Option<Value>, new: Option<Value>) {
        self.rows.push(Difference { pointer, change, action: action.map(str::to_owned), old, new });
    }
}

type Named<'a> = (&'a str, &'a Value);

/// The members of a list by their names, if every one is an object with a name of its own.
fn by_name(list: &[Value]) -> Option<Vec<Named<'_>>> {
    let named: Option<Vec<Named<'_>>> = list.iter().map(|value| Some((value.get("name")?.as_str()?, value))).collect();
    let named = named?;
    let names: BTreeSet<&str> = named.iter().map(|(name, _)| *name).collect();
    (names.len() == named.len()).then_some(named)
}

/// The name, if the thing is an action.
fn label<'a>(name: &'a str, value: &Value) -> Option<&'a str> {
    value.get("type").map(|_| name)
}

/// The old positions of those that kept their order: a longest increasing subsequence. The others have moved.
fn steady(before: &[Option<usize>]) -> BTreeSet<usize> {
    let order: Vec<usize> = before.iter().copied().flatten().collect();
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(order.len());
    for (index, at) in order.iter().enumerate() {
        let longest = (0..index).filter(|earlier| order[*earlier] < *at).max_by_key(|earlier| best[*earlier].0);
        best.push((longest.map_or(1, |earlier| best[earlier].0 + 1), longest));
    }
    let mut chosen = BTreeSet::new();
    let mut next = (0..order.len()).max_by_key(|index| (best[*index].0, usize::MAX - index));
    while let Some(index) = next {
        chosen.insert(order[index]);
        next = best[index].1;
    }
    chosen
}
