//! `lua`: from an action and its values to the script that a thread of the pool runs.

use super::draft::Draft;
use super::render::facts;
use super::turn::Turn;
use crate::action::ScriptTask;
use crate::flow::definition::Action;
use crate::flow::expression::PathValue;
use crate::flow::outcome::Failure;
use crate::flow::perform::{LuaAction, ScriptUse};
use crate::flow::request::{idempotency_key, origin_headers, request_id};
use crate::flow::template::render_json;
use crate::guc;
use crate::script::{Limits, Script};
use crate::store::StoreError;
use std::rc::Rc;
use std::time::Duration;

impl Turn<'_> {
    /// The script of the action's coming attempt.
    pub fn script(
        &mut self,
        draft: &Draft,
        action: &Action,
        lua: &LuaAction,
        values: &[PathValue],
    ) -> Result<Result<ScriptTask, Failure>, StoreError> {
        let (name, source) = match self.source(draft, action, lua)? {
            Ok(found) => found,
            Err(failure) => return Ok(Err(failure)),
        };
        let context = match self.whole_context(draft)? {
            Ok(context) => context,
            Err(failure) => return Ok(Err(failure)),
        };
        let args = lua.args.as_ref().map(|args| render_json(args, values, &action.paths)).transpose();
        let default = self.settings.action_timeout.as_millis().clamp(1, u128::from(u32::MAX)) as u32;
        let wall = Duration::from_millis(u64::from(self.timeout_ms(lua.timeout_ms.unwrap_or(default), draft)));
        let limits = Limits {
            wall,
            cpu: lua.cpu_ms.map(|ms| Duration::from_millis(u64::from(ms))),
            memory: (lua.memory_mb as usize) << 20,
            output: guc::max_response_bytes(),
            keep_debug: guc::logs_debug(),
            summary_chars: self.settings.summary_chars,
            cancelled: || false,
        };
        let id = draft.held.acting_id();
        let facts = facts(draft, action, &id, "".into());
        let task = |args: Option<String>| ScriptTask {
            script: Script { name, source: source.to_string(), context, args: args.unwrap_or_else(|| "{}".to_owned()) },
            limits,
            headers: origin_headers(&facts),
            idempotency_key: idempotency_key(&id, &action.name, draft.held.key_no),
            request_id: request_id(&id, &action.name, facts.attempt_no),
        };
        Ok(args.map(task))
    }

    /// Name and source of the script: the version that the instance recorded when it started, or the pinned one.
    fn source(
        &mut self,
        draft: &Draft,
        action: &Action,
        lua: &LuaAction,
    ) -> Result<Result<(String, Rc<str>), Failure>, StoreError> {
        let (name, version) = match &lua.script {
            ScriptUse::Source(source) => return Ok(Ok((action.name.clone(), source.as_str().into()))),
            ScriptUse::Stored { name, version } => (name, version.or_else(|| draft.held.scripts.get(name).copied())),
        };
        let unknown = || Failure::permanent("unknown_script", format!("there is no script \"{name}\""));
        let Some(version) = version else { return Ok(Err(unknown())) };
        let source = self.definitions.script(name, version)?;
        Ok(source.map(|source| (format!("{name}@{version}"), source)).ok_or_else(unknown))
    }
}
