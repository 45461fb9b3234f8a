//! Which lane an action's work queues on.
//!
//! Lanes of the database are served by other processes than lanes of downstreams; their names never mix.

use crate::flow::address::Address;
use crate::flow::definition::{FLOW_LANE, LUA_LANE, Lane, SQL_LANE};
use crate::flow::parse::fields::{Fields, LONGEST_LABEL};
use crate::flow::parse::kind::Kind;
use crate::flow::perform::Perform;
use crate::flow::problem::Problem;

/// Reads `lane`, or takes the type's own.
pub(super) fn read(fields: &Fields, kind: Kind, perform: Option<&Perform>, problems: &mut Vec<Problem>) -> Lane {
    if fields.get("lane").is_some() && !kind.makes_attempts() {
        let message = format!("\"lane\" has no effect on an action of type \"{}\"", kind.word());
        problems.push(Problem::error(fields.pointer("lane"), "unknown_key", message).hint("it calls nobody"));
        return Lane::Named(FLOW_LANE.to_owned());
    }
    let stated = fields.label("lane", problems);
    let own = |name: &str| Lane::Named(name.to_owned());
    match kind {
        Kind::Http => stated.map_or_else(|| origin(perform), |label| outside(label, fields, problems)),
        Kind::Lua => stated.map_or_else(|| own(LUA_LANE), |label| outside(label, fields, problems)),
        Kind::Local | Kind::Message => stated.map_or_else(|| own(SQL_LANE), |label| inside(label, fields, problems)),
        Kind::Emit | Kind::Wait | Kind::Parallel | Kind::ForEach | Kind::Switch | Kind::Workflow => own(FLOW_LANE),
    }
}

fn origin(perform: Option<&Perform>) -> Lane {
    match perform {
        Some(Perform::Http(http)) => match &http.url {
            Address::Fixed { origin, .. } | Address::Templated { origin, .. } => Lane::Origin(origin.clone()),
            Address::Whole(_) => Lane::Dynamic,
        },
        _ => Lane::Dynamic,
    }
}

fn outside(label: String, fields: &Fields, problems: &mut Vec<Problem>) -> Lane {
    if is_of_database(&label) || label.starts_with('~') {
        let message = "lanes called \"sql\", \"sql:…\" and \"~…\" are the database's own";
        problems.push(Problem::error(fields.pointer("lane"), "invalid_name", message));
    }
    Lane::Named(label)
}

/// `bulk` is the lane `sql:bulk`; the full name is accepted as well.
fn inside(label: String, fields: &Fields, problems: &mut Vec<Problem>) -> Lane {
    let name = if is_of_database(&label) { label } else { format!("{SQL_LANE}:{label}") };
    if name.len() > LONGEST_LABEL || name.contains('~') {
        let message = format!("the lane \"{name}\" must have at most {LONGEST_LABEL} bytes and no ~");
        problems.push(Problem::error(fields.pointer("lane"), "invalid_name", message));
    }
    Lane::Named(name)
}

fn is_of_database(label: &str) -> bool {
    label.strip_prefix(SQL_LANE).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}
