//! Random workflows: every kind of action inside of every other, with short
//! times, and nothing that starts what comes before it, so that all ends.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// Workflows of a walk; each may start only those with a higher number.
pub const WORKFLOWS: usize = 14;
/// Deepest nesting of lists.
const DEEPEST: usize = 3;

/// Makes definitions for one receiver.
pub struct Generator<'r> {
    /// Where chance comes from.
    pub rng: &'r mut Rng,
    /// Start of the receiver's addresses.
    pub origin: String,
    actions: usize,
    number: usize,
}

impl<'r> Generator<'r> {
    /// One whose requests go to `origin`.
    pub fn new(rng: &'r mut Rng, origin: &str) -> Self {
        Self { rng, origin: origin.to_owned(), actions: 0, number: 0 }
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.rng.f64() < probability
    }

    /// The workflow with this number, started by `kind<number>.fired`.
    pub fn workflow(&mut self, number: usize) -> Value {
        (self.number, self.actions) = (number, 0);
        let mut workflow = json!({
            "workflowName": format!("walk{number}"), "triggerEvent": format!("kind{number}.fired"),
            "retryPolicy": {"maxRetries": 2, "backoffMs": 20, "maxBackoffMs": 200},
        });
        if self.chance(0.35) {
            workflow["timeoutSeconds"] = json!(0.5 + 4.0 * self.rng.f64());
        }
        if self.chance(0.25) {
            workflow["cancelOn"] = json!([{"eventType": "stop"}]);
        }
        if self.chance(0.3) {
            workflow["concurrency"] = json!({"key": "${payload.slot}", "limit": self.rng.usize(1..=2)});
        }
        workflow["actions"] = json!(self.list(0));
        workflow
    }

    fn list(&mut self, depth: usize) -> Vec<Value> {
        let length = self.rng.usize(1..=if depth == 0 { 4 } else { 2 });
        (0..length).map(|_| self.action(depth)).collect()
    }

    fn action(&mut self, depth: usize) -> Value {
        self.actions += 1;
        let name = format!("a{}", self.actions);
        let nests = depth < DEEPEST && self.actions < 40;
        let mut action = match self.rng.usize(0..100) {
            0..30 => self.http(),
            30..36 => self.lua(),
            36..44 => self.local(&name),
            44..46 => json!({"type": "message", "config": {"transport": "notify", "topic": "walk"}}),
            46..54 => self.emit(),
            54..66 => self.wait(),
            66..78 if nests => self.parallel(depth),
            78..86 if nests => self.foreach(depth),
            86..92 if nests => self.switch(depth),
            92..97 if self.number + 1 < WORKFLOWS => self.child(),
            _ => self.http(),
        };
        action["name"] = json!(name);
        if self.chance(0.15) {
            action["when"] = json!(format!("$.payload.kind != {}", self.rng.usize(0..4)));
        }
        match self.rng.usize(0..20) {
            0..5 => action["onError"] = json!("continue"),
            5 => action["onError"] = json!("pause"),
            _ => {}
        }
        action
    }

    fn http(&mut self) -> Value {
        let mut action = json!({"type": "http",
            "config": {"url": format!("{}/do", self.origin), "timeoutMs": 300, "body": {"slot": "${payload.slot}"}}});
        if self.chance(0.15) {
            action["config"]["idempotent"] = json!(false);
        }
        if self.chance(0.3) {
            action["output"] = json!({"n": "${response.body.n}"});
        }
        if self.chance(0.5) {
            action["compensate"] = json!({"type": "http", "config": {
                "url": format!("{}/undo", self.origin), "timeoutMs": 1000, "body": {"slot": "${payload.slot}"}}});
        }
        action
    }

    fn local(&mut self, name: &str) -> Value {
        let mut action = json!({"type": "local",
            "config": {"function": "walk.note", "args": ["${instance.id}", name], "timeoutMs": 2000}});
        if self.chance(0.4) {
            let args = json!(["${instance.id}", format!("{name}~undo")]);
            action["compensate"] = json!({"type": "local", "config": {"function": "walk.note", "args": args}});
        }
        action
    }

    /// A script that counts in the database, asks the receiver, and fails in every way a script can say.
    fn lua(&mut self) -> Value {
        let source = "local n = (rea.kv.get('n') or 0) + 1 rea.kv.set('n', n)
            local answer, why = rea.http({url = args.url})
            if not answer then rea.retry(why, 0) end
            if answer.status == 503 then rea.retry('busy', 0) end
            if answer.status ~= 200 then rea.fail('refused', 'refused') end
            return {n = n}";
        let url = format!("{}/do", self.origin);
        let mut action = json!({"type": "lua", "config": {"source": source, "args": {"url": url}, "timeoutMs": 400}});
        if self.chance(0.3) {
            let undo =
                json!({"source": "rea.http({url = args.url}) return {}", "args": {"url": url}, "timeoutMs": 1000});
            action["compensate"] = json!({"type": "lua", "config": undo});
        }
        action
    }

    fn later_kind(&mut self) -> Option<usize> {
        (self.number + 1 < WORKFLOWS).then(|| self.rng.usize(self.number + 1..WORKFLOWS))
    }

    fn emit(&mut self) -> Value {
        let event_type = match self.later_kind().filter(|_| self.rng.f64() < 0.25) {
            Some(kind) => format!("kind{kind}.fired"),
            None => "signal".to_owned(),
        };
        json!({"type": "emit", "config": {"eventType": event_type}})
    }

    fn wait(&mut self) -> Value {
        if self.chance(0.3) {
            return json!({"type": "wait", "config": {"durationSeconds": 0.01 + 0.3 * self.rng.f64()}});
        }
        let list = if self.chance(0.3) { "all" } else { "any" };
        let events: Vec<Value> = (0..self.rng.usize(1..=2)).map(|_| json!({"eventType": "signal"})).collect();
        let on_timeout = if self.chance(0.7) { "continue" } else { "fail" };
        json!({"type": "wait", "config": {list: events, "timeoutSeconds": 0.05 + self.rng.f64(), "onTimeout": on_timeout}})
    }

    fn parallel(&mut self, depth: usize) -> Value {
        let branches: Map<String, Value> =
            (0..self.rng.usize(1..=3)).map(|n| (format!("b{n}"), json!(self.list(depth + 1)))).collect();
        let mut action = json!({"type": "parallel", "branches": branches});
        if self.chance(0.3) {
            action["join"] = json!("any");
        }
        if self.chance(0.3) {
            action["onBranchFailure"] = json!("cancel");
        }
        action
    }

    fn foreach(&mut self, depth: usize) -> Value {
        let actions = self.list(depth + 1);
        json!({"type": "foreach", "config": {
            "items": "${payload.items}", "maxConcurrency": self.rng.usize(1..=3), "actions": actions}})
    }

    fn switch(&mut self, depth: usize) -> Value {
        let case =
            |n: usize, actions: Vec<Value>| json!({"when": format!("$.payload.kind == {n}"), "actions": actions});
        let cases: Vec<Value> = (0..self.rng.usize(1..=2)).map(|n| case(n, self.list(depth + 1))).collect();
        let mut config = json!({"cases": cases});
        if self.chance(0.5) {
            config["default"] = json!(self.list(depth + 1));
        }
        json!({"type": "switch", "config": config})
    }

    fn child(&mut self) -> Value {
        let number = self.rng.usize(self.number + 1..WORKFLOWS);
        let wait = self.chance(0.7);
        json!({"type": "workflow", "config": {"workflowName": format!("walk{number}"), "wait": wait}})
    }
}
