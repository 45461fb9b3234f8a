//! Every statement the library runs: the file in `sql/query/` is the constant's name in lower case.

/// An SQL statement with its name.
pub struct Statement {
    /// Name of the file, without `.sql`.
    pub name: &'static str,
    /// Text of the file.
    pub text: &'static str,
}

macro_rules! statements {
    ($($constant:ident = $file:literal;)*) => {
        /// The statements by name.
        pub mod statements {
            use super::Statement;
            $(
                #[doc = concat!("`sql/query/", $file, ".sql`")]
                pub static $constant: Statement = Statement {
                    name: $file,
                    text: include_str!(concat!("../../sql/query/", $file, ".sql")),
                };
            )*
        }
    };
}

statements! {
    ACTION_LOG_INSERT = "action_log_insert";
    ANNOUNCE_DEAD_LETTERS = "announce_dead_letters";
    ANNOUNCE_UNROUTED = "announce_unrouted";
    CANCEL_EVENT = "cancel_event";
    CHECK_PATH = "check_path";
    CHILDREN_RESULTS = "children_results";
    CHILDREN_STATE = "children_state";
    CLAIM_DUE = "claim_due";
    CLAIM_EVENT_ID = "claim_event_id";
    CLAIM_EXPIRED = "claim_expired";
    CLAIM_REQUESTED = "claim_requested";
    CLAIM_SIGNALLED = "claim_signalled";
    CLAIM_TOPIC = "claim_topic";
    CLAIM_WAITING = "claim_waiting";
    COMPARE_REPEAT = "compare_repeat";
    COMPLETE_WAITS = "complete_waits";
    CONFIG_ALL = "config_all";
    CONFIG_GET = "config_get";
    CONTEXT = "context";
    CURRENT_ROUTE = "current_route";
    CURRENT_SCRIPT = "current_script";
    CURRENT_WORKFLOW = "current_workflow";
    DEACTIVATE_ROUTE = "deactivate_route";
    DEACTIVATE_SCRIPT = "deactivate_script";
    DEAD_LETTER_INSERT = "dead_letter_insert";
    DEFINE_SCHEDULE = "define_schedule";
    DELETE_CONFIG = "delete_config";
    DONE_ACTIONS = "done_actions";
    DROP_SCHEDULE = "drop_schedule";
    DUE_SCHEDULES = "due_schedules";
    EVALUATE = "evaluate";
    EVENT_INSERT = "event_insert";
    FIND_EVENT = "find_event";
    FIND_FUNCTIONS = "find_functions";
    FIRE_EVENT = "fire_event";
    FIRE_EVENT_LATER = "fire_event_later";
    FIRE_TICKS = "fire_ticks";
    FORGET_GENERATION = "forget_generation";
    FORGET_REQUESTS = "forget_requests";
    INBOX_HORIZON = "inbox_horizon";
    INBOX_INSERT = "inbox_insert";
    INBOX_LAST_ID = "inbox_last_id";
    INSERT_ROUTE = "insert_route";
    INSERT_SCRIPT = "insert_script";
    INSERT_UNROUTED = "insert_unrouted";
    INSERT_WORKFLOW_VERSION = "insert_workflow_version";
    INSTANCE_INSERT = "instance_insert";
    INSTANCE_LOG_INSERT = "instance_log_insert";
    INSTANCE_UPDATE = "instance_update";
    KV_EXPIRE = "kv_expire";
    KV_GET = "kv_get";
    KV_SET = "kv_set";
    LANES_DUE = "lanes_due";
    LINEAGE = "lineage";
    LIVE_PARENTS = "live_parents";
    LOAD_DEFINITION = "load_definition";
    LOAD_HELD = "load_held";
    LOAD_PAYLOAD = "load_payload";
    LOAD_SCRIPT = "load_script";
    LOCK_DEFINITIONS = "lock_definitions";
    LOCK_PLACES = "lock_places";
    LOCK_REROUTES = "lock_reroutes";
    LOCK_SCHEDULE = "lock_schedule";
    LOCK_SCRIPTS = "lock_scripts";
    LOCK_WAITS = "lock_waits";
    LOOK_BACK = "look_back";
    MATCH_EVENT = "match_event";
    MOVE_DELAYED = "move_delayed";
    NEW_GENERATION = "new_generation";
    NEWEST_SCRIPTS = "newest_scripts";
    NEXT_CLOCK_TIME = "next_clock_time";
    NEXT_DEADLINE = "next_deadline";
    NEXT_DUE = "next_due";
    NOTE_REROUTE = "note_reroute";
    NOTIFY_ALERT = "notify_alert";
    OPERATION_OF_EVENT = "operation_of_event";
    OPERATION_OF_INSTANCE = "operation_of_instance";
    OTHER_GENERATIONS = "other_generations";
    PAUSE_SCHEDULE = "pause_schedule";
    PGMQ_INSTALLED = "pgmq_installed";
    PGMQ_SCHEMA = "pgmq_schema";
    PLACE_ENTER = "place_enter";
    PLACE_LEAVE = "place_leave";
    PLACE_STATE = "place_state";
    PLACE_TAKE = "place_take";
    QUERY_INSTANCE = "query_instance";
    QUEUE_DELETE = "queue_delete";
    QUEUE_INSERT = "queue_insert";
    QUEUE_RELEASE = "queue_release";
    QUEUE_UPDATE = "queue_update";
    REPORT_LANES = "report_lanes";
    REQUEST_CHILDREN = "request_children";
    REQUEST_INSERT = "request_insert";
    REQUESTS_IN_HAND = "requests_in_hand";
    REROUTE_EVENTS = "reroute_events";
    REROUTE_PLAN = "reroute_plan";
    RERUN_EVENT = "rerun_event";
    RESUME_CHILDREN = "resume_children";
    RESUME_INSTANCE = "resume_instance";
    RESUME_POINT = "resume_point";
    RESUME_SCHEDULE = "resume_schedule";
    REVIVE_CHILDREN = "revive_children";
    ROUTE_EVENTS = "route_events";
    SCHEDULE_FIRED = "schedule_fired";
    SCRIPT_USERS = "script_users";
    SESSION_SETTINGS = "session_settings";
    SET_ASIDE_EVENT = "set_aside_event";
    SET_CONFIG = "set_config";
    SET_WORKFLOW_ENABLED = "set_workflow_enabled";
    SIGNAL_INSERT = "signal_insert";
    SIMULATE_MATCH = "simulate_match";
    SIMULATE_TIME = "simulate_time";
    SIMULATE_VALUES = "simulate_values";
    TAKE_OVER = "take_over";
    TIED_ROUTE = "tied_route";
    TIMELINE = "timeline";
    TOPIC_KIND = "topic_kind";
    WAIT_DELETE = "wait_delete";
    WAIT_EVENTS = "wait_events";
    WAIT_INSERT = "wait_insert";
    WITHDRAW_PAUSE = "withdraw_pause";
    WORKFLOW_EXISTS = "workflow_exists";
    WORKFLOW_NAMES = "workflow_names";
    WORKFLOW_STATE = "workflow_state";
}
