//! What one local action leaves in its session is gone before the next one.

use rea_tests::workflow::local;
use rea_tests::{Scene, wait_until};
use serde_json::json;

/// Calls `leaves`, once with success and once with an error after it, and then
/// `finds`, an expression that has to be true.
fn nothing_is_left(leaves: &str, finds: &str) {
    let mut scene = Scene::open();
    let sql = format!(
        "create function has_drawn() returns boolean language plpgsql as $body$
         begin
             perform lastval();
             return true;
         exception when object_not_in_prerequisite_state then
             return false;
         end $body$;
         create function leaves(fails boolean) returns int language plpgsql as $body$
         begin
             {leaves};
             if fails then raise exception 'after all'; end if;
             return 1;
         end $body$;
         create function clean() returns int language plpgsql as $body$
         begin
             if not ({finds}) then raise exception 'something was left'; end if;
             return 1;
         end $body$;"
    );
    scene.client.batch_execute(&sql).expect("functions");
    scene.define("x.leaves", vec![local("leaves", "public.leaves", json!(["${payload.fails}"]))]);
    scene.define("x.finds", vec![local("finds", "public.clean", json!([]))]);
    for (number, fails) in [false, true].into_iter().enumerate() {
        scene.fire_with("x.leaves", &format!("L-{number}"), &json!({"fails": fails}));
        let left = scene.finish(&format!("L-{number}"));
        assert_eq!(left.error_code, if fails { "P0001" } else { "" }, "{left:?}");
        scene.fire("x.finds", &format!("F-{number}"));
        let found = scene.finish(&format!("F-{number}"));
        assert_eq!((found.status.as_str(), found.error_code.as_str()), ("SUCCESS", ""), "{finds}");
    }
}

#[test]
fn settings_are_taken_back() {
    nothing_is_left(
        "perform set_config('work_mem', '77MB', false); perform set_config('app.tenant', '7', false); \
         set search_path = pg_catalog",
        "current_setting('work_mem') <> '77MB' and coalesce(current_setting('app.tenant', true), '') = '' \
         and current_setting('search_path') like '%public%'",
    );
}

#[test]
fn temporary_tables_are_dropped() {
    nothing_is_left("create temporary table scrap (a int)", "to_regclass('pg_temp.scrap') is null");
}

#[test]
fn temporary_functions_are_dropped() {
    nothing_is_left(
        "execute 'create function pg_temp.f() returns int language sql as ''select 1'''",
        "to_regprocedure('pg_temp.f()') is null",
    );
}

#[test]
fn session_advisory_locks_are_released() {
    nothing_is_left("perform pg_advisory_lock(4711)", "not exists (select from pg_locks where locktype = 'advisory')");
}

#[test]
fn prepared_statements_are_deallocated() {
    nothing_is_left("execute 'prepare kept as select 1'", "not exists (select from pg_prepared_statements)");
}

#[test]
fn cursors_with_hold_are_closed() {
    nothing_is_left(
        "execute 'declare kept cursor with hold for select 1'",
        "not exists (select from pg_cursors where name = 'kept')",
    );
}

#[test]
fn sequence_values_are_forgotten() {
    nothing_is_left("create sequence if not exists numbers; perform nextval('numbers')", "not has_drawn()");
}

#[test]
fn a_call_finds_the_settings_of_a_new_session_of_its_role() {
    let mut scene = Scene::open();
    scene
        .client
        .batch_execute(
            "create function settings() returns jsonb language sql as $$
                 select jsonb_object_agg(n, current_setting(n))
                 from unnest(array['search_path', 'enable_seqscan', 'plan_cache_mode', 'work_mem', 'TimeZone']) n $$;
             alter database app set work_mem = '9MB';
             alter role postgres in database app set search_path = public, pg_catalog;",
        )
        .expect("set up");
    scene.cluster.reload_with("timezone", "Asia/Tokyo");
    let action = rea_tests::workflow::with(
        local("s", "public.settings", json!([])),
        "output",
        json!({"found": "${response.body}"}),
    );
    scene.define("x.settings", vec![action]);
    wait_until(rea_tests::PATIENCE, "the settings are in force", || {
        let number = rea_tests::workflow::count(&mut scene.client, "select count(*) from rea.work_instance");
        let key = format!("S-{number}");
        scene.fire("x.settings", &key);
        scene.finish(&key);
        let sql = format!("select context #>> '{{s,output,found}}' from rea.work_instance where biz_key = '{key}'");
        let found: String = scene.client.query_one(&sql, &[]).expect("output").get(0);
        let found: serde_json::Value = serde_json::from_str(&found).expect("jsonb");
        found
            == json!({"search_path": "public, pg_catalog", "enable_seqscan": "on", "plan_cache_mode": "auto",
                "work_mem": "9MB", "TimeZone": "Asia/Tokyo"})
    });
}
