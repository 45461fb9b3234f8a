//! What a simulation asks of PostgreSQL: the same paths and the same operators as the worker's, on documents that are
//! stored nowhere.

use super::work::{load_definition, workflow_state};
use super::{Argument, StoreError, statements, subtransaction, utc};
use crate::flow::definition::Match;
use crate::flow::expression::{Expression, PathValue};
use crate::flow::outcome::Failure;
use crate::flow::parse;
use crate::flow::simulation::{Database, Stored};
use chrono::{DateTime, Utc};

/// This database. Must be used inside of [`super::connected`].
pub struct Documents;

impl Database for Documents {
    type Error = StoreError;

    fn evaluate(
        &mut self,
        document: &str,
        paths: &[Expression],
    ) -> Result<Result<Vec<PathValue>, Failure>, StoreError> {
        match subtransaction(|| values(document, paths)) {
            Err(error) if !error.is_transient() => {
                Ok(Err(Failure::permanent("expression", format!("could not evaluate: {error}"))))
            }
            found => found.map(Ok),
        }
    }

    fn matches(&mut self, document: &str, matching: &Match) -> Result<bool, StoreError> {
        let (contains, path) = match matching {
            Match::Contains(object) => (Some(object.clone()), None),
            Match::Path(path) => (None, Some(path.clone())),
        };
        let found = subtransaction(|| {
            let rows = statements::SIMULATE_MATCH.run(&[document.into(), contains.into(), path.into()])?;
            rows.first().map_or(Ok(false), |row| row.get(1))
        });
        match found {
            // An event that cannot be compared completes nothing.
            Err(error) if !error.is_transient() => Ok(false),
            found => found,
        }
    }

    fn time(&mut self, text: &str) -> Result<(DateTime<Utc>, String), StoreError> {
        let rows = statements::SIMULATE_TIME.run(&[text.into()])?;
        rows.first().map_or_else(
            || Ok((DateTime::<Utc>::MAX_UTC, "null".to_owned())),
            |row| Ok((utc(row.get(1)?), row.get(2)?)),
        )
    }

    fn workflow(&mut self, name: &str) -> Result<Option<Stored>, StoreError> {
        let Some((version, enabled)) = workflow_state(name)? else { return Ok(None) };
        let text = load_definition(name, version)?;
        let workflow = text.and_then(|(text, _)| parse::parse(&text).0);
        Ok(Some(Stored { version, enabled, workflow }))
    }
}

fn values(document: &str, paths: &[Expression]) -> Result<Vec<PathValue>, StoreError> {
    let texts: Vec<&str> = paths.iter().map(|path| path.path.as_str()).collect();
    let many: Vec<bool> = paths.iter().map(|path| path.many).collect();
    let arguments: [Argument<'_>; 3] = [document.into(), texts.into(), many.into()];
    let rows = statements::SIMULATE_VALUES.run(&arguments)?;
    rows.iter().map(|row| Ok(PathValue { count: row.get::<i32>(1)? as u32, text: row.maybe(2)? })).collect()
}
