//! Answers what scripts want to know: one short transaction for all questions that are there.
//!
//! Every inquiry gets an answer, also when the database gives none.

use crate::action::{Inquiry, Question};
use crate::store::{self, Clock, StoreError, script};
use pgrx::pg_sys;
use std::collections::HashMap;

/// What was found, as JSON text.
struct Found {
    kv: HashMap<(String, String), String>,
    config: HashMap<String, String>,
}

/// Answers the inquiries. `workflow_of` names the workflow of a job; `None`: the job is not known any more.
pub fn answer(inquiries: Vec<Inquiry>, extension: pg_sys::Oid, workflow_of: impl Fn(u64) -> Option<String>) {
    if inquiries.is_empty() {
        return;
    }
    let asked: Vec<(Option<String>, Inquiry)> =
        inquiries.into_iter().map(|inquiry| (workflow_of(inquiry.token), inquiry)).collect();
    let looked = store::transaction(|| {
        if !store::extension_is_present(extension) {
            return Ok(None);
        }
        look(&asked).map(Some)
    });
    let found = match looked {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err("the extension is being dropped".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    for (workflow, inquiry) in asked {
        let reply = match (&found, &inquiry.question, workflow) {
            (Err(why), _, _) => Err(why.clone()),
            (Ok(found), Question::Config(key), _) => Ok(found.config.get(key).cloned()),
            (Ok(found), Question::Kv(key), Some(workflow)) => Ok(found.kv.get(&(workflow, key.clone())).cloned()),
            (Ok(_), Question::Kv(_), None) => Err("the attempt is over".to_owned()),
        };
        inquiry.answer(reply);
    }
}

fn look(asked: &[(Option<String>, Inquiry)]) -> Result<Found, StoreError> {
    let (mut pairs, mut keys) = (Vec::new(), Vec::new());
    for (workflow, inquiry) in asked {
        match (&inquiry.question, workflow) {
            (Question::Kv(key), Some(workflow)) => pairs.push((workflow.clone(), key.clone())),
            (Question::Kv(_), None) => {}
            (Question::Config(key), _) => keys.push(key.clone()),
        }
    }
    pairs.sort();
    pairs.dedup();
    let kv = if pairs.is_empty() { HashMap::new() } else { script::kv_get(&pairs, Clock::now())? };
    let config = if keys.is_empty() { HashMap::new() } else { script::config_get(keys)? };
    Ok(Found { kv, config })
}
