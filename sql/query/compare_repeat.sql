-- Says whether the event stored under an id is the one that came again.
-- $1 source, $2 event_id, $3 event_type, $4 biz_key, $5 payload
-- Returns one boolean; no row when the event itself has been purged.
select e.event_type = $3 and e.biz_key = $4 and e.payload = $5
from rea.work_event_key k
join rea.work_event e on e.event_uid = k.event_uid
where k.source = $1 and k.event_id = $2
