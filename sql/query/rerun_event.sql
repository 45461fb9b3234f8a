-- Fires an event once more: the same type, key, payload and source, as a new event that names the old one.
-- $1 uid of the old event, $2 uid of the new one, $3 now, $4 oid of the role that fires it
-- The id of the new event is its uid. The inbox row is made from the event row, as in fire_event.sql.
with event as (
    insert into rea.work_event (event_uid, create_time, occurred_at, event_type, biz_key, event_id, source, payload,
                                attributes, correlation_id, causation_id, fired_by)
    select $2, $3, o.occurred_at, o.event_type, o.biz_key, $2::uuid::text, o.source, o.payload,
           o.attributes || pg_catalog.jsonb_build_object('rerunOf', o.event_id), o.correlation_id, o.event_id,
           pg_catalog.pg_get_userbyid($4)
    from rea.work_event o where o.event_uid = $1
    returning event_uid, event_id, source
), named as (
    insert into rea.work_event_key (source, event_id, event_uid, create_time)
    select e.source, e.event_id, e.event_uid, $3 from event e where e.source <> ''
)
insert into rea.work_inbox (event_uid) select e.event_uid from event e
