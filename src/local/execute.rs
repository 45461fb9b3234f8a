//! The statement of a call: its text, its kept plan, its arguments and its one result.

use super::raise::{Raised, caught, raw};
use super::target::{Target, type_name};
use super::{Fault, c_string};
use crate::flow::call::arguments;
use crate::flow::outcome::Failure;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};

/// Calls whose plan is kept; beyond that the collection starts anew.
const KEPT: usize = 1_000;

/// A function, the number of its arguments, and whether the last one is the array of a VARIADIC parameter.
type Key = (pg_sys::Oid, usize, bool);

thread_local! {
    static PLANS: RefCell<HashMap<Key, pg_sys::SPIPlanPtr>> = RefCell::new(HashMap::new());
}

/// The arguments as one JSON object whose members are numbered from 1.
pub struct Arguments {
    object: String,
    count: usize,
    context: bool,
    /// Whether the last one is a JSON array.
    ends_with_array: bool,
}

impl Arguments {
    /// From a JSON array, or the whole context as the only argument.
    pub fn new(array: Option<&str>, context: Option<&str>) -> Result<Arguments, Failure> {
        let values = match array {
            Some(array) => arguments(array)
                .ok_or_else(|| Failure::permanent("invalid_call", "the arguments are not a JSON array"))?,
            None => vec![context.unwrap_or("null")],
        };
        let members: Vec<String> =
            values.iter().enumerate().map(|(index, value)| format!("\"{}\":{value}", index + 1)).collect();
        Ok(Arguments {
            object: format!("{{{}}}", members.join(",")),
            count: values.len(),
            context: array.is_none(),
            ends_with_array: values.last().is_some_and(|value| value.starts_with('[')),
        })
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether it is the whole context.
    pub fn is_context(&self) -> bool {
        self.context
    }
}

/// Calls a function. `None` is SQL null or no result.
pub fn function(target: &Target, arguments: &Arguments) -> Result<Option<String>, Fault> {
    let whole = target.collects.is_some() && arguments.ends_with_array && arguments.count == target.parameters.len();
    let key = (target.oid, arguments.count, whole);
    let plan = match PLANS.with_borrow(|plans| plans.get(&key).copied()) {
        Some(plan) => plan,
        None => {
            let plan = prepared(&text(target, arguments.count, whole), &mut [pg_sys::JSONBOID])?;
            keep(key, plan);
            plan
        }
    };
    let object = c_string(&arguments.object)?;
    // SAFETY: reads a NUL-terminated string.
    let datum = unsafe {
        caught(|| {
            raw::OidInputFunctionCall(pg_sys::Oid::from(pg_sys::F_JSONB_IN), object.as_ptr(), pg_sys::InvalidOid, -1)
        })
    }?;
    let result = run(plan, &mut [datum])?;
    Ok(result.filter(|_| !target.void))
}

/// Sends a message by the statement, with a plan for this once.
pub fn send(statement: &str, topic: &str, envelope: &str) -> Result<Option<String>, Fault> {
    let plan = prepared(statement, &mut [pg_sys::TEXTOID, pg_sys::TEXTOID])?;
    // SAFETY: copies the bytes into a new varlena.
    let datum =
        |text: &str| unsafe { pg_sys::cstring_to_text_with_len(text.as_ptr().cast(), text.len() as i32) }.into();
    run(plan, &mut [datum(topic), datum(envelope)])?;
    // SAFETY: the plan was not kept; nothing uses it any more.
    unsafe { pg_sys::SPI_freeplan(plan) };
    Ok(None)
}

fn keep(key: Key, plan: pg_sys::SPIPlanPtr) {
    PLANS.with_borrow_mut(|plans| {
        // SAFETY: kept plans belong to this collection alone; none of them runs now.
        unsafe {
            if plans.len() >= KEPT {
                plans.drain().for_each(|(_, plan)| {
                    pg_sys::SPI_freeplan(plan);
                });
            }
            pg_sys::SPI_keepplan(plan);
        }
        plans.insert(key, plan);
    });
}

/// `schema.name(a."1", a."2")` in its frame. `whole`: the last argument is the array of the VARIADIC parameter.
fn text(target: &Target, count: usize, whole: bool) -> String {
    let fixed = target.parameters.len() - usize::from(target.collects.is_some() && !whole);
    let of = |number: usize| match target.collects {
        Some(element) if number > fixed => element,
        _ => target.parameters[number - 1],
    };
    let columns: Vec<String> = (1..=count).map(|number| format!("\"{number}\" {}", type_name(of(number)))).collect();
    let names: Vec<String> = (1..=count)
        .map(|number| format!("{}a.\"{number}\"", if whole && number == count { "variadic " } else { "" }))
        .collect();
    let call = format!("{}.{}({})", quoted(&target.schema), quoted(&target.name), names.join(", "));
    let arguments = match count {
        0 => String::new(),
        _ => include_str!("../../sql/call/arguments.sql").replace("COLUMNS", &columns.join(", ")),
    };
    let frame =
        if target.void { include_str!("../../sql/call/void.sql") } else { include_str!("../../sql/call/value.sql") };
    let body = frame.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
    body.replace("ARGUMENTS", &format!("\n{arguments}")).replace("CALL", &call)
}

/// The name as SQL writes it, always in quotes.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn prepared(text: &str, types: &mut [pg_sys::Oid]) -> Result<pg_sys::SPIPlanPtr, Fault> {
    let text = CString::new(text).map_err(|_| Failure::permanent("invalid_call", "a name holds a NUL"))?;
    let (text, count, types) = (text.as_ptr(), types.len() as i32, types.as_mut_ptr());
    let options = pg_sys::CURSOR_OPT_GENERIC_PLAN as i32;
    // SAFETY: text and types outlive the call; SPI is connected by the transaction around it.
    let plan = unsafe { caught(|| raw::SPI_prepare_cursor(text, count, types, options)) }?;
    if plan.is_null() {
        // SAFETY: a plain global.
        let code = unsafe { pg_sys::SPI_result };
        return Err(Failure::permanent("internal", format!("could not prepare the call: SPI code {code}")).into());
    }
    Ok(plan)
}

/// Runs the plan and reads the only column of its only row.
fn run(plan: pg_sys::SPIPlanPtr, datums: &mut [pg_sys::Datum]) -> Result<Option<String>, Raised> {
    let nulls = vec![b' ' as c_char; datums.len()];
    let (values, nulls) = (datums.as_mut_ptr(), nulls.as_ptr());
    // SAFETY: the plan has as many parameters as there are datums; its rows live until the table is freed.
    unsafe {
        caught(|| raw::SPI_execute_plan(plan, values, nulls, false, 0))?;
        let table = pg_sys::SPI_tuptable;
        if table.is_null() || (*table).numvals == 0 {
            return Ok(None);
        }
        let (tuple, descriptor) = (*(*table).vals, (*table).tupdesc);
        let text = caught(|| raw::SPI_getvalue(tuple, descriptor, 1))?;
        let result = (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned());
        if !text.is_null() {
            pg_sys::pfree(text.cast());
        }
        pg_sys::SPI_freetuptable(table);
        Ok(result)
    }
}
