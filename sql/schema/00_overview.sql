-- rea, the install script, in the order of these files. All objects live in the schema rea.
--
--   rea.fire_event()                     in the caller's transaction
--        │  work_event  (what happened, append-only)      work_event_key (dedupe of given event ids)
--        │  work_delayed (until its fire_at)              schedule (each tick is an event)
--        ▼
--   work_inbox   one row per committed event that no worker has looked at
--        │  the worker empties it, matches the routes
--        ├──▶ work_unrouted   nothing matched
--        ▼
--   work_instance  one row per run of a workflow          work_queue  one row per run that is still alive
--        │  claim → send → record                          (the only table that churns)
--        ▼
--   work_action_log  one row per attempt      work_instance_log  one row per status change
--        ▼
--   work_dead_letter  runs that ended FAILED or DEAD and wait for a person
--
-- Hot and small stands apart from large and quiet: no index of work_instance covers a column that changes, so every
-- update of it is heap-only; only work_queue is indexed by what changes, and its rows live as long as the run.
-- Nobody is granted a table: the functions and views of the later files are the only way in.

do $check$
begin
    if pg_catalog.getdatabaseencoding() <> 'UTF8' then
        raise exception 'rea needs a database with encoding UTF8, this one has %', pg_catalog.getdatabaseencoding()
            using errcode = 'feature_not_supported',
                  hint = 'Create the database with: create database … encoding ''UTF8'' template template0';
    end if;
end
$check$;
