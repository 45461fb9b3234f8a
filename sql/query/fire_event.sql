-- Stores an event and its inbox row.
-- $1 event_uid, $2 create_time, $3 occurred_at, $4 event_type, $5 biz_key, $6 event_id, $7 source, $8 payload,
-- $9 attributes, $10 correlation_id, $11 causation_id, $12 fired_by
-- Runs with the caller's search_path: names no operator and no function on purpose.
-- The inbox row is made from the event row so that the transaction has its xid before the inbox id is drawn: the
-- worker's mark (inbox_horizon.sql) relies on it.
with event as (
    insert into rea.work_event (event_uid, create_time, occurred_at, event_type, biz_key, event_id, source, payload,
                                attributes, correlation_id, causation_id, fired_by)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    returning event_uid
)
insert into rea.work_inbox (event_uid) select event_uid from event
