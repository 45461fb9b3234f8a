//! Which function a definition means, and whether its role may call it.
//!
//! Found by schema, name and number of arguments. Rights are looked at here for a clear answer; PostgreSQL checks them
//! again when the call runs.

use super::execute::Arguments;
use super::{c_string, privilege};
use crate::flow::outcome::Failure;
use pgrx::pg_sys;
use std::ffi::CStr;

/// A function that can be called with the arguments at hand.
#[derive(Debug)]
pub struct Target {
    /// Its oid.
    pub oid: pg_sys::Oid,
    /// Schema and name as in the definition.
    pub schema: String,
    /// See `schema`.
    pub name: String,
    /// Types of all its input parameters.
    pub parameters: Vec<pg_sys::Oid>,
    /// Type of the arguments that the last of them collects; `None` when it collects none.
    pub collects: Option<pg_sys::Oid>,
    /// Whether it returns nothing.
    pub void: bool,
    defaults: usize,
    kind: u8,
    set: bool,
}

impl Target {
    fn is_plain(&self) -> bool {
        self.kind == b'f' && !self.set
    }

    fn takes(&self, arguments: usize) -> bool {
        (self.parameters.len().saturating_sub(self.defaults)..=self.most()).contains(&arguments)
    }

    fn most(&self) -> usize {
        if self.collects.is_some() { usize::MAX } else { self.parameters.len() }
    }

    fn takes_json(&self) -> bool {
        self.parameters.first().is_some_and(|first| *first == pg_sys::JSONOID || given_as(*first) == pg_sys::JSONBOID)
    }
}

/// The function of this name that takes this many arguments.
///
/// Permanent failures: `3F000` no such schema, `42883` no such function, `42725` several, `42809` not a plain function,
/// `privilege`.
pub fn find(schema: &str, name: &str, arguments: &Arguments, role: pg_sys::Oid) -> Result<Target, Failure> {
    let schema_name = c_string(schema)?;
    // SAFETY: a catalog look-up inside a transaction.
    let namespace = unsafe { pg_sys::get_namespace_oid(schema_name.as_ptr(), true) };
    if namespace == pg_sys::InvalidOid {
        return Err(Failure::permanent("3F000", format!("schema \"{schema}\" does not exist")));
    }
    if !may_use(namespace, role) {
        return Err(privilege(format!("the role that defined the workflow may not use schema \"{schema}\"")));
    }
    let target = chosen(in_schema(schema, name, namespace)?, schema, name, arguments)?;
    if !may_execute(target.oid, role) {
        return Err(privilege(format!("the role that defined the workflow may not execute {schema}.{name}")));
    }
    Ok(target)
}

/// Like PostgreSQL, the candidate that needs the fewest defaults. The whole context goes to a function that can take
/// json, of several to one of jsonb. [`crate::flow::reference`] tells the same before a definition is stored.
fn chosen(all: Vec<Target>, schema: &str, name: &str, arguments: &Arguments) -> Result<Target, Failure> {
    let number = arguments.count();
    let exists = !all.is_empty();
    let mut fitting: Vec<Target> = all.into_iter().filter(|target| target.takes(number)).collect();
    if fitting.iter().any(Target::is_plain) {
        fitting.retain(Target::is_plain);
    }
    if arguments.is_context() {
        fitting.retain(Target::takes_json);
    }
    if let Some(fewest) = fitting.iter().map(Target::most).min() {
        fitting.retain(|target| target.most() == fewest);
    }
    if arguments.is_context() && fitting.len() > 1 {
        fitting.retain(|target| target.parameters.first() == Some(&pg_sys::JSONBOID));
    }
    match (fitting.pop(), fitting.is_empty()) {
        (None, _) => {
            let also = match (exists, arguments.is_context()) {
                (false, _) => "",
                (true, true) => "; without \"args\" it must take one jsonb, the whole context",
                (true, false) => "; \"args\" must list one value for each parameter",
            };
            let message = format!("function {schema}.{name} with {number} arguments does not exist{also}");
            Err(Failure::permanent("42883", message))
        }
        (Some(_), false) => {
            let message = format!(
                "several functions {schema}.{name} take {number} arguments; give the one that is meant a name of its own"
            );
            Err(Failure::permanent("42725", message))
        }
        (Some(target), true) => callable(target),
    }
}

fn callable(target: Target) -> Result<Target, Failure> {
    let fault = match target.kind {
        b'f' if target.set => "returns a set; wrap it in a function that returns one value",
        b'f' => return Ok(target),
        b'p' => "is a procedure; a local action is part of a transaction, so call a function",
        _ => "is an aggregate or window function; wrap it in a function",
    };
    Err(Failure::permanent("42809", format!("{}.{} {fault}", target.schema, target.name)))
}

fn in_schema(schema: &str, name: &str, namespace: pg_sys::Oid) -> Result<Vec<Target>, Failure> {
    let function_name = c_string(name)?;
    let mut found = Vec::new();
    // SAFETY: the list and its tuples live until it is released; nothing in between can raise.
    unsafe {
        let list = pg_sys::SearchSysCacheList(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as i32,
            1,
            pg_sys::Datum::from(function_name.as_ptr()),
            pg_sys::Datum::from(0usize),
            pg_sys::Datum::from(0usize),
        );
        for member in (*list).members.as_slice((*list).n_members as usize) {
            let tuple = &raw mut (**member).tuple;
            let form = pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_proc>();
            if (*form).pronamespace == namespace {
                found.push(described(&*form, schema, name));
            }
        }
        pg_sys::ReleaseCatCacheList(list);
    }
    Ok(found)
}

unsafe fn described(form: &pg_sys::FormData_pg_proc, schema: &str, name: &str) -> Target {
    let count = form.pronargs.max(0) as usize;
    // SAFETY: proargtypes has pronargs elements.
    let parameters = unsafe { form.proargtypes.values.as_slice(count) }.to_vec();
    Target {
        oid: form.oid,
        schema: schema.to_owned(),
        name: name.to_owned(),
        parameters,
        collects: (form.provariadic != pg_sys::InvalidOid).then_some(form.provariadic),
        void: form.prorettype == pg_sys::VOIDOID,
        defaults: form.pronargdefaults.max(0) as usize,
        kind: form.prokind as u8,
        set: form.proretset,
    }
}

fn may_use(namespace: pg_sys::Oid, role: pg_sys::Oid) -> bool {
    let mode = pg_sys::ACL_USAGE as pg_sys::AclMode;
    // SAFETY: a catalog look-up of an object that was just found.
    #[cfg(feature = "pg15")]
    let result = unsafe { pg_sys::pg_namespace_aclcheck(namespace, role, mode) };
    #[cfg(not(feature = "pg15"))]
    let result = unsafe { pg_sys::object_aclcheck(pg_sys::NamespaceRelationId, namespace, role, mode) };
    result == pg_sys::AclResult::ACLCHECK_OK
}

fn may_execute(function: pg_sys::Oid, role: pg_sys::Oid) -> bool {
    let mode = pg_sys::ACL_EXECUTE as pg_sys::AclMode;
    // SAFETY: see may_use.
    #[cfg(feature = "pg15")]
    let result = unsafe { pg_sys::pg_proc_aclcheck(function, role, mode) };
    #[cfg(not(feature = "pg15"))]
    let result = unsafe { pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, role, mode) };
    result == pg_sys::AclResult::ACLCHECK_OK
}

/// The type that an argument gets for a parameter: jsonb for a polymorphic one, text for one of any type.
fn given_as(parameter: pg_sys::Oid) -> pg_sys::Oid {
    match parameter {
        pg_sys::ANYOID => pg_sys::TEXTOID,
        pg_sys::ANYELEMENTOID
        | pg_sys::ANYNONARRAYOID
        | pg_sys::ANYCOMPATIBLEOID
        | pg_sys::ANYCOMPATIBLENONARRAYOID => pg_sys::JSONBOID,
        other => other,
    }
}

/// The SQL name, with its schema, of the type that an argument gets for a parameter.
pub fn type_name(parameter: pg_sys::Oid) -> String {
    // SAFETY: a catalog look-up that returns a NUL-terminated string.
    unsafe { CStr::from_ptr(pg_sys::format_type_be_qualified(given_as(parameter))).to_string_lossy().into_owned() }
}
