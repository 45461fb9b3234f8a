-- Fires the ticks of one schedule, in order; one that has been fired before is left out by its key.
-- $1 schedule_name, $2 event uids, $3 event ids, $4 times of the ticks, $5 ticks missed before each, $6 now
-- The caller holds the schedule's lock. The key is written first, so the transaction has its xid before an inbox id is
-- drawn: the worker's mark (inbox_horizon.sql) relies on it.
with tick as (
    select t.event_uid, t.event_id, t.tick_time, t.missed
    from unnest($2::uuid[], $3::text[], $4::timestamptz[], $5::bigint[]) t (event_uid, event_id, tick_time, missed)
), fresh as (
    insert into rea.work_event_key (source, event_id, event_uid, create_time)
    select 'rea.schedule', t.event_id, t.event_uid, $6 from tick t order by t.event_id
    on conflict (source, event_id) do nothing
    returning event_uid
), event as (
    insert into rea.work_event (event_uid, create_time, occurred_at, event_type, biz_key, event_id, source, payload,
                                attributes, fired_by)
    select t.event_uid, $6, t.tick_time, s.event_type, s.biz_key, t.event_id, 'rea.schedule', s.payload,
           s.attributes || pg_catalog.jsonb_build_object(
               'schedule', s.schedule_name,
               'tick', pg_catalog.to_char(t.tick_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
               'missed', t.missed),
           s.defined_by
    from fresh f
    join tick t on t.event_uid = f.event_uid
    join rea.schedule s on s.schedule_name = $1
    returning event_uid
)
insert into rea.work_inbox (event_uid) select e.event_uid from event e order by e.event_uid
