-- The context document of an instance.
-- $1 event uid, $2 what it holds besides event and payload, JSON text
select (pg_catalog.jsonb_build_object(
            'event', pg_catalog.jsonb_build_object(
                'id', e.event_id, 'type', e.event_type, 'source', e.source, 'bizKey', e.biz_key,
                'time', e.occurred_at, 'attributes', e.attributes,
                'correlationId', e.correlation_id, 'causationId', e.causation_id),
            'payload', e.payload) || $2::jsonb)::text
from rea.work_event e where e.event_uid = $1
