//! Definitions as a worker runs them: parsed once, kept, found by where an instance stands.

use crate::flow::context::Steps;
pub use crate::flow::definition::Cursor;
use crate::flow::definition::{Action, Compensate, Workflow};
use crate::flow::parse;
use crate::flow::perform::{LuaAction, Perform, ScriptUse};
use crate::store::tree::Ancestor;
use crate::store::{StoreError, script, work};
use chrono::{DateTime, TimeDelta, Utc};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// One version of a workflow, parsed.
pub struct Definition {
    /// Name of the workflow.
    pub name: Rc<str>,
    /// Its version.
    pub version: i32,
    /// Role that defined it.
    pub defined_by: Rc<str>,
    /// What it does; `None` when the stored text cannot be used by this library.
    pub workflow: Option<Workflow>,
    /// Scripts that it names without a version.
    scripts: Vec<String>,
    /// Whether an action has an undo.
    pub undoes: bool,
    /// Whether an action starts children.
    pub forks: bool,
    /// Whether an action waits for events, or events cancel it.
    pub waits: bool,
}

impl Definition {
    fn new(name: &str, version: i32, defined_by: &str, workflow: Option<Workflow>) -> Definition {
        let waits = |action: &Action| matches!(action.perform, Perform::Wait(_));
        let has_wait = workflow.iter().flat_map(Workflow::all_actions).any(waits);
        let cancelled_by_events = workflow.as_ref().is_some_and(|workflow| !workflow.cancel_on.is_empty());
        let mut definition = Definition {
            scripts: Vec::new(),
            name: name.into(),
            version,
            defined_by: defined_by.into(),
            undoes: workflow.as_ref().is_some_and(Workflow::undoes),
            forks: workflow.as_ref().is_some_and(Workflow::forks),
            waits: has_wait || cancelled_by_events,
            workflow,
        };
        definition.scripts = definition.script_names();
        definition
    }

    /// Whether an instance has something to do before its first action.
    pub fn prepares_start(&self) -> bool {
        self.workflow.as_ref().is_some_and(Workflow::prepares_start)
    }

    /// The actions of a block, or the workflow's own.
    pub fn actions(&self, block: Option<usize>) -> &[Action] {
        self.workflow.as_ref().map_or(&[], |workflow| workflow.actions_of(block))
    }

    /// The action at the cursor; `None` behind the last one, or when the definition cannot be used.
    pub fn action(&self, cursor: Cursor) -> Option<&Action> {
        self.workflow.as_ref()?.action(cursor)
    }

    /// Names of the actions of a block before the index.
    pub fn names_before(&self, block: Option<usize>, index: usize) -> impl Iterator<Item = &str> {
        self.actions(block).iter().take(index).map(|action| action.name.as_str())
    }

    /// Members of `steps` that a branch has from the instances above it, which stand from the top down.
    pub fn inherited(&self, ancestors: &[Ancestor]) -> Rc<str> {
        let mut members = String::new();
        for ancestor in ancestors {
            let block = match (&ancestor.block, &self.workflow) {
                (Some((parent_action, branch)), Some(workflow)) => workflow.block(parent_action, branch),
                _ => None,
            };
            let actions = self.actions(block);
            let index = actions.iter().position(|action| action.name == ancestor.through).unwrap_or(0);
            let finished = self.names_before(block, index);
            members = Steps::parse(ancestor.context.as_deref()).members(Some(&members), finished);
        }
        members.into()
    }

    /// When an instance that starts now has to be over.
    pub fn deadline(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let timeout = self.workflow.as_ref()?.timeout?;
        now.checked_add_signed(TimeDelta::from_std(timeout).ok()?)
    }

    fn script_names(&self) -> Vec<String> {
        let unpinned = |action: &Action| match &action.perform {
            Perform::Lua(LuaAction { script: ScriptUse::Stored { name, version: None }, .. }) => Some(name.clone()),
            _ => None,
        };
        let mut names = Vec::new();
        for action in self.workflow.iter().flat_map(Workflow::all_actions) {
            names.extend(unpinned(action));
            if let Compensate::By(undo) = &action.compensate {
                names.extend(unpinned(undo));
            }
        }
        names.sort();
        names.dedup();
        names
    }
}

/// Versions of scripts by name.
pub type ScriptVersions = Rc<BTreeMap<String, i32>>;

/// Parsed definitions; versions are immutable, so an entry never becomes wrong.
#[derive(Default)]
pub struct Definitions {
    by_version: HashMap<(String, i32), Rc<Definition>>,
    sources: HashMap<(String, i32), Rc<str>>,
    /// The newest versions of scripts, looked up once in a turn.
    newest: HashMap<(Rc<str>, i32), ScriptVersions>,
}

impl Definitions {
    /// Versions kept before the cache starts anew.
    const KEPT: usize = 10_000;

    /// The definition, loaded and parsed at most once.
    pub fn get(&mut self, name: &str, version: i32) -> Result<Rc<Definition>, StoreError> {
        let key = (name.to_owned(), version);
        if let Some(definition) = self.by_version.get(&key) {
            return Ok(definition.clone());
        }
        let (text, defined_by) = work::load_definition(name, version)?.unwrap_or_default();
        let definition = Rc::new(Definition::new(name, version, &defined_by, parse::parse(&text).0));
        if self.by_version.len() >= Self::KEPT {
            self.by_version.clear();
        }
        self.by_version.insert(key, definition.clone());
        Ok(definition)
    }

    /// Forgets what holds for one turn only.
    pub fn begin_turn(&mut self) {
        self.newest.clear();
    }

    /// The newest version of each script that the definition names without one, as an instance records them at its start.
    pub fn newest_scripts(&mut self, definition: &Definition) -> Result<ScriptVersions, StoreError> {
        if definition.scripts.is_empty() {
            return Ok(ScriptVersions::default());
        }
        let key = (definition.name.clone(), definition.version);
        if let Some(newest) = self.newest.get(&key) {
            return Ok(newest.clone());
        }
        let newest: ScriptVersions = Rc::new(script::newest_scripts(definition.scripts.clone())?.into_iter().collect());
        self.newest.insert(key, newest.clone());
        Ok(newest)
    }

    /// The source of a script, loaded at most once; `None` when there is no such version.
    pub fn script(&mut self, name: &str, version: i32) -> Result<Option<Rc<str>>, StoreError> {
        let key = (name.to_owned(), version);
        if let Some(source) = self.sources.get(&key) {
            return Ok(Some(source.clone()));
        }
        let Some(source) = script::load_script(name, version)? else { return Ok(None) };
        if self.sources.len() >= Self::KEPT {
            self.sources.clear();
        }
        let source: Rc<str> = source.into();
        self.sources.insert(key, source.clone());
        Ok(Some(source))
    }
}
