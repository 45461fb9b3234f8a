-- The payload of an event as text, for one that is too large to be handed over with its instance.
-- $1 event uid
select e.payload::text from rea.work_event e where e.event_uid = $1
