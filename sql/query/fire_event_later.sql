-- Stores an event that fires later, outside of the inbox: move_delayed.sql puts it there at its time.
-- $1 event_uid, $2 create_time, $3 occurred_at, $4 event_type, $5 biz_key, $6 event_id, $7 source, $8 payload,
-- $9 attributes, $10 correlation_id, $11 causation_id, $12 fired_by, $13 fire_at
-- Runs with the caller's search_path: names no operator and no function on purpose.
with event as (
    insert into rea.work_event (event_uid, create_time, occurred_at, event_type, biz_key, event_id, source, payload,
                                attributes, correlation_id, causation_id, fired_by, fire_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    returning event_uid, fire_at
)
insert into rea.work_delayed (event_uid, fire_at) select event_uid, fire_at from event
