-- fire_events: an array of events in one call, ids in the order of the array; all of them or none.
select rea.fire_events('[]') as nothing;
select * from rea.fire_events('[
    {"event_type": "batch.made", "biz_key": "B-2", "event_id": "z", "source": "shop", "payload": {"n": 1.50}},
    {"event_type": "batch.made", "biz_key": "B-1", "event_id": "a", "source": "shop", "attributes": {"k": "v"},
     "correlation_id": "c", "causation_id": "d", "occurred_at": "2026-01-02T03:04:05Z"},
    {"event_type": "batch.made", "biz_key": "B-2", "event_id": "z", "source": "shop", "payload": {"n": 1.50}}]') with ordinality as f (id, position);
select e.event_id, e.biz_key, e.payload, e.attributes, e.correlation_id, e.causation_id,
       e.occurred_at = '2026-01-02T03:04:05Z' as as_given, e.occurred_at = e.create_time as as_fired
from rea.work_event e where e.event_type = 'batch.made' order by e.event_id;
select count(*) as fired, count(distinct id) as ids from rea.fire_events('[{"event_type": "batch.short", "biz_key": "B-3"}, {"event_type": "batch.short", "biz_key": "B-3"}]') id;
-- Without ids too the order of the array is the order of firing.
select count(*) from rea.fire_events((select jsonb_agg(jsonb_build_object('event_type', 'batch.order', 'biz_key', n)) from generate_series(1, 20) n));
select array_agg(e.biz_key::integer order by e.event_uid) = array_agg(n.n order by n.n) as in_order
from rea.work_event e join generate_series(1, 20) n on n.n::text = e.biz_key where e.event_type = 'batch.order';

call regress.refused($$ select rea.fire_events(null) $$);
call regress.refused($$ select rea.fire_events('{}') $$);
call regress.refused($$ select rea.fire_events('7') $$);
call regress.refused($$ select rea.fire_events('[{"event_type": "batch.bad", "biz_key": "B"}, 7]') $$);
call regress.refused($$ select rea.fire_events('[{"event_type": "batch.bad", "biz_key": "B"}, {"eventType": "batch.bad", "biz_key": "B"}]') $$);
call regress.refused($$ select rea.fire_events('[{"event_type": "batch.bad", "biz_key": "B"}, {"biz_key": "B"}]') $$);
call regress.refused($$ select rea.fire_events('[{"event_type": "batch.bad"}]') $$);
call regress.refused($$ select rea.fire_events('[{"event_type": "batch.bad", "biz_key": "B", "source": "shop"}]') $$);
call regress.refused($$ select rea.fire_events('[{"event_type": "batch.bad", "biz_key": "B", "occurred_at": "soon"}]') $$);
select count(*) as stored from rea.work_event e where e.event_type = 'batch.bad';
