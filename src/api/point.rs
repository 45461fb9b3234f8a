//! An instance that a person wants to move on or stop, locked.

use super::call::Call;
use crate::error::ApiError;
use crate::flow::definition::{Action, Workflow};
use crate::flow::instance::Status;
use crate::flow::parse;
use crate::store::{self, Row, StoreError, statements, work};
use chrono::{DateTime, Utc};
use pgrx::datum::TimestampWithTimeZone;
use uuid::Uuid;

/// Where an instance stands.
pub(super) struct Point {
    /// Its status.
    pub status: Status,
    /// Its version.
    pub version: i32,
    workflow: (String, i32),
    action_index: i32,
    block: Option<(String, String)>,
    /// When it was paused.
    pub paused: Option<DateTime<Utc>>,
    /// When it has to be over.
    pub deadline: Option<DateTime<Utc>>,
    /// Whether something was undone, or is about to be.
    pub undoes: bool,
    /// The instance that waits for it.
    pub parent: Option<Uuid>,
    /// Whether a pause is asked for and not carried out yet.
    pub pause_is_asked_for: bool,
}

impl Point {
    /// Locks the instance, if the caller may see it.
    pub fn lock(call: &Call, id: pgrx::Uuid) -> Result<Result<Point, ApiError>, StoreError> {
        let rows = statements::RESUME_POINT.run(&[id.into(), call.caller.role.into()])?;
        match rows.first() {
            Some(row) => Ok(Ok(read(&row)?)),
            None => {
                let hint = "Only instances of events that your role fired can be seen; rea.query_instance lists them.";
                Ok(Err(ApiError::NotFound { kind: "instance", name: store::uuid(id).to_string(), hint }))
            }
        }
    }

    /// The definition that it runs; `None` when it cannot be used.
    pub fn definition(&self) -> Result<Option<Workflow>, StoreError> {
        let text = work::load_definition(&self.workflow.0, self.workflow.1)?;
        Ok(text.and_then(|(text, _)| parse::parse(&text).0))
    }

    /// The action it stands at; `None` behind the last one.
    pub fn action<'w>(&self, workflow: &'w Workflow) -> Option<&'w Action> {
        let block = match &self.block {
            None => None,
            Some((parent_action, branch)) => Some(workflow.block(parent_action, branch)?),
        };
        workflow.actions_of(block).get(self.action_index.max(0) as usize)
    }
}

fn read(row: &Row<'_>) -> Result<Point, StoreError> {
    let time = |column| -> Result<Option<DateTime<Utc>>, StoreError> {
        Ok(row.maybe::<TimestampWithTimeZone>(column)?.map(store::utc))
    };
    let (parent_action, branch): (Option<String>, Option<String>) = (row.maybe(6)?, row.maybe(7)?);
    Ok(Point {
        status: row.get::<String>(1)?.parse().unwrap_or(Status::Running),
        version: row.get(2)?,
        workflow: (row.get(3)?, row.get(4)?),
        action_index: row.get(5)?,
        block: parent_action.zip(branch),
        paused: time(8)?,
        deadline: time(9)?,
        undoes: row.get(10)?,
        parent: row.maybe(11)?.map(store::uuid),
        pause_is_asked_for: row.get(12)?,
    })
}
