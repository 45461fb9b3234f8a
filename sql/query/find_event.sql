-- Finds an event by the id its source knows, or by its own uid, and the transaction that wrote it.
-- $1 event id, $2 source
select e.event_uid, e.xmin
from rea.work_event e
where e.event_uid = coalesce(
    (select k.event_uid from rea.work_event_key k where k.source = $2 and k.event_id = $1),
    case when $2 = '' and $1 ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then $1::uuid end)
