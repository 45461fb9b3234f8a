-- Stores events that instances bring forth.
-- $1 rows, $2 now
-- A null payload is that of the instance's event. Whoever sees the instance's event sees these.
insert into rea.work_event (event_uid, create_time, occurred_at, event_type, biz_key, event_id, source, payload, attributes,
                            correlation_id, causation_id, fired_by, depth)
select n.event_uid, $2, $2, n.event_type, n.biz_key, n.event_uid::text, '', coalesce(n.payload::jsonb, e.payload),
       n.attributes::jsonb, n.correlation_id, n.causation_id, i.fired_by, n.depth
from unnest($1::rea.new_event[]) n
join rea.work_instance i on i.instance_id = n.instance_id
join rea.work_event e on e.event_uid = i.event_uid
