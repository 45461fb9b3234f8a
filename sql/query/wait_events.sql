-- Which events completed waits so far.
-- $1 instance ids, $2 wait action of each
-- Returns the number in $1, position of the wait, event type, and the event as steps show it, in order of position.
select n.place::integer, m.wait_no, e.event_type,
       pg_catalog.jsonb_build_object(
           'id', e.event_id, 'type', e.event_type, 'source', e.source, 'bizKey', e.biz_key, 'time', e.occurred_at,
           'attributes', e.attributes, 'correlationId', e.correlation_id, 'causationId', e.causation_id,
           'payload', e.payload)::text
from unnest($1::uuid[], $2::text[]) with ordinality n (instance_id, action_name, place)
join rea.work_wait_event m on m.instance_id = n.instance_id and m.action_name = n.action_name
join rea.work_event e on e.event_uid = m.event_uid
order by n.place, m.wait_no
