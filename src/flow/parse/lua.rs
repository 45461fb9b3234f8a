//! Reading the `config` of a `lua` action.

use crate::flow::parse::fields::Fields;
use crate::flow::parse::templates::Templates;
use crate::flow::perform::{LuaAction, ScriptUse};
use crate::flow::problem::Problem;

/// Memory of a script in MiB: what it gets unasked, and the most a definition may ask for.
const MEMORY_MB: u32 = 64;
const MOST_MEMORY_MB: i64 = 1_024;

/// Longest script in a definition, in bytes.
const LONGEST_SOURCE: usize = 256 * 1024;

/// Reads it.
pub(super) fn read(config: &Fields, templates: &mut Templates, problems: &mut Vec<Problem>) -> Option<LuaAction> {
    let script = script(config, problems);
    let args = templates.object_or_one(config, "args", problems);
    let timeout_ms = config.milliseconds("timeoutMs", problems);
    let cpu_ms = config.milliseconds("cpuMs", problems);
    let memory_mb = config.integer("memoryMb", 1..=MOST_MEMORY_MB, problems);
    let memory_mb = memory_mb.and_then(|number| u32::try_from(number).ok()).unwrap_or(MEMORY_MB);
    Some(LuaAction { script: script?, args, timeout_ms, cpu_ms, memory_mb })
}

fn script(config: &Fields, problems: &mut Vec<Problem>) -> Option<ScriptUse> {
    match config.exactly_one(&["script", "source"], problems)? {
        "source" => source(config, problems),
        _ => stored(config, problems),
    }
}

fn source(config: &Fields, problems: &mut Vec<Problem>) -> Option<ScriptUse> {
    let text = config.text("source", problems)?;
    if text.is_empty() || text.len() > LONGEST_SOURCE {
        let message = format!("\"source\" must have 1 to {LONGEST_SOURCE} bytes");
        problems.push(Problem::error(config.pointer("source"), "out_of_range", message));
        return None;
    }
    Some(ScriptUse::Source(text.to_owned()))
}

/// `name`, or `name@3` for version 3.
fn stored(config: &Fields, problems: &mut Vec<Problem>) -> Option<ScriptUse> {
    let label = config.label("script", problems)?;
    let Some((name, version)) = label.rsplit_once('@') else {
        return Some(ScriptUse::Stored { name: label, version: None });
    };
    let number = version.parse::<i32>().ok().filter(|number| *number > 0 && !version.starts_with('+'));
    if name.is_empty() || number.is_none() {
        let message = "\"script\" is a name, or a name and a version as in \"name@3\"";
        problems.push(Problem::error(config.pointer("script"), "invalid_name", message));
        return None;
    }
    Some(ScriptUse::Stored { name: name.to_owned(), version: number })
}
