//! What most tests begin with: a cluster, a sink, and a session as superuser.

use std::collections::HashMap;
use std::time::Duration;

use postgres::Client;
use serde_json::{Value, json};

use crate::cluster::DATABASE;
use crate::workflow::{count, define, fire, workflow};
use crate::{Cluster, Config, PATIENCE, Sink, wait_until};

/// How an instance stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: String,
    /// Code of its failure, or an empty text.
    pub error_code: String,
}

/// One row of the action log.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Name of the action.
    pub action: String,
    /// Number of the attempt.
    pub number: i32,
    /// How it went.
    pub status: String,
    /// Code of its failure, or an empty text.
    pub error_code: String,
}

/// Cluster, sink and session.
pub struct Scene {
    /// Session in database `app`, as superuser.
    pub client: Client,
    /// Where requests go.
    pub sink: Sink,
    /// The cluster.
    pub cluster: Cluster,
}

impl Scene {
    /// Defaults, without fsync.
    pub fn open() -> Self {
        Self::with(&Config::new().without_fsync())
    }

    /// A cluster of one's own choice.
    pub fn with(config: &Config) -> Self {
        let cluster = Cluster::start(config);
        Self { client: cluster.connect(DATABASE), sink: Sink::start(), cluster }
    }

    /// Connects again, after the server was restarted.
    pub fn reconnect(&mut self) {
        self.cluster.wait_ready();
        self.client = self.cluster.connect(DATABASE);
    }

    /// Defines a workflow that starts from `event_type` and is named after it.
    pub fn define(&mut self, event_type: &str, actions: Vec<Value>) {
        define(&mut self.client, &workflow(&flow_name(event_type), event_type, actions));
    }

    /// Fires an event with an empty payload.
    pub fn fire(&mut self, event_type: &str, biz_key: &str) {
        fire(&mut self.client, event_type, biz_key, &json!({}));
    }

    /// Fires an event.
    pub fn fire_with(&mut self, event_type: &str, biz_key: &str, payload: &Value) {
        fire(&mut self.client, event_type, biz_key, payload);
    }

    /// The only instance of a business key, if there is one yet.
    pub fn instance(&mut self, biz_key: &str) -> Option<Instance> {
        let rows = self.client.query(
            "select instance_id::text, status, coalesce(error_code, '') from rea.work_instance where biz_key = $1",
            &[&biz_key],
        );
        let rows = rows.expect("work_instance");
        assert!(rows.len() < 2, "{biz_key} has {} instances", rows.len());
        rows.first().map(|row| Instance { id: row.get(0), status: row.get(1), error_code: row.get(2) })
    }

    /// Waits until the instance of a business key has reached a status that it
    /// does not leave by itself.
    pub fn finish(&mut self, biz_key: &str) -> Instance {
        let mut last = None;
        wait_until(PATIENCE, &format!("{biz_key} is finished"), || {
            last = self.instance(biz_key);
            last.as_ref().is_some_and(|i| !["PENDING", "RUNNING"].contains(&i.status.as_str()))
        });
        last.expect("it was just there")
    }

    /// Waits until `number` instances have succeeded and none is alive.
    pub fn finish_all(&mut self, number: usize, deadline: Duration) {
        let client = &mut self.client;
        wait_until(deadline, &format!("all {number} instances are finished"), || {
            count(client, "select count(*) from rea.work_instance where end_time is not null") >= number as i64
                && count(client, "select count(*) from rea.work_queue") == 0
        });
        assert_eq!(statuses(client), HashMap::from([("SUCCESS".to_owned(), number as i64)]));
    }

    /// The attempts of the instance of a business key, in order.
    pub fn attempts(&mut self, biz_key: &str) -> Vec<Attempt> {
        let rows = self.client.query(
            "select l.action_name, l.attempt_no, l.status, coalesce(l.error_code, '') \
             from rea.work_action_log l join rea.work_instance i using (instance_id) \
             where i.biz_key = $1 order by l.log_id",
            &[&biz_key],
        );
        let attempt = |row: &postgres::Row| Attempt {
            action: row.get(0),
            number: row.get(1),
            status: row.get(2),
            error_code: row.get(3),
        };
        rows.expect("work_action_log").iter().map(attempt).collect()
    }

    /// Process ids of the workers of `app`.
    pub fn workers(&self) -> Vec<i32> {
        self.cluster.worker_pids(DATABASE)
    }
}

/// Number of instances per status.
pub fn statuses(client: &mut Client) -> HashMap<String, i64> {
    let rows = client.query("select status, count(*) from rea.work_instance group by status", &[]);
    rows.expect("work_instance").iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// `order.created` → `orderCreatedFlow`.
fn flow_name(event_type: &str) -> String {
    let mut words = event_type.split(['.', '_', '-']);
    let first = words.next().unwrap_or_default().to_owned();
    let rest = words.map(|word| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |l| l.to_uppercase().chain(letters).collect())
    });
    rest.fold(first, |name, word| name + &word) + "Flow"
}
