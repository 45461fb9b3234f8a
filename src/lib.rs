//! rea — Reliable Event Automation, a PostgreSQL extension.
//!
//! An application fires an event in its own transaction; if that commits, rea runs the workflow that the routes choose.
//! The modules stand in the order in which a call passes through them:
//!
//! * [`api`]: the SQL functions: check arguments, call the store, shape the result;
//! * [`flow`]: the pure decisions: definitions, templates, retry, the state machine;
//! * [`store`]: the only place that talks to PostgreSQL: one function per statement of `sql/query/`;
//! * [`worker`]: the processes: launcher, worker loop, wake-up at commit;
//! * [`local`]: calls in the database as other roles: the only place that runs other people's SQL;
//! * [`action`]: the threads that perform HTTP requests and never touch PostgreSQL;
//! * [`script`]: the sandbox in which Luau scripts run;
//! * [`guc`] and [`error`]: the settings, and the SQLSTATE of every error.

use pgrx::prelude::*;

pub mod action;
pub mod api;
pub mod error;
pub mod flow;
pub mod guc;
pub mod local;
pub mod script;
pub mod store;
pub mod worker;

pgrx::pg_module_magic!(name, version);

pgrx::extension_sql_file!("../sql/schema/00_overview.sql", name = "overview", bootstrap);
pgrx::extension_sql_file!("../sql/schema/10_event.sql", name = "event", requires = ["overview"]);
pgrx::extension_sql_file!("../sql/schema/20_definition.sql", name = "definition", requires = ["event"]);
pgrx::extension_sql_file!("../sql/schema/25_script.sql", name = "script", requires = ["definition"]);
pgrx::extension_sql_file!("../sql/schema/30_instance.sql", name = "instance", requires = ["script"]);
pgrx::extension_sql_file!("../sql/schema/32_flow.sql", name = "flow", requires = ["instance"]);
pgrx::extension_sql_file!("../sql/schema/35_schedule.sql", name = "schedule", requires = ["flow"]);
pgrx::extension_sql_file!("../sql/schema/40_log.sql", name = "log", requires = ["schedule"]);
pgrx::extension_sql_file!("../sql/schema/45_message.sql", name = "message", requires = ["log"]);
pgrx::extension_sql_file!("../sql/schema/45_reroute.sql", name = "reroute", requires = ["message"]);
pgrx::extension_sql_file!("../sql/schema/50_worker.sql", name = "worker", requires = ["reroute"]);
pgrx::extension_sql_file!("../sql/schema/55_change.sql", name = "change", requires = ["worker"]);
pgrx::extension_sql_file!("../sql/schema/60_application.sql", name = "application", requires = ["change"]);
pgrx::extension_sql_file!("../sql/schema/61_administration.sql", name = "administration", requires = ["application"]);
pgrx::extension_sql_file!("../sql/schema/62_schedule.sql", name = "schedule_api", requires = ["administration"]);
pgrx::extension_sql_file!("../sql/schema/63_script.sql", name = "script_api", requires = ["schedule_api"]);
pgrx::extension_sql_file!("../sql/schema/65_revision.sql", name = "revision", requires = ["script_api"]);
pgrx::extension_sql_file!("../sql/schema/65_tree.sql", name = "tree", requires = ["revision"]);
pgrx::extension_sql_file!("../sql/schema/66_simulation.sql", name = "simulation", requires = ["tree"]);
pgrx::extension_sql_file!("../sql/schema/70_view.sql", name = "view", requires = ["simulation"]);
pgrx::extension_sql_file!("../sql/schema/80_grant.sql", name = "grant", requires = ["view"]);
pgrx::extension_sql_file!("../sql/schema/90_dump.sql", name = "dump", requires = ["grant"], finalize);

/// Runs when the library is loaded: defines the settings and, when preloaded, shared memory and the launcher.
#[pg_guard]
pub extern "C-unwind" fn _PG_init() {
    guc::init();
    worker::init();
}
