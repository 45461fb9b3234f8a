-- simulate: what a workflow would do, on a virtual clock, with mocked outcomes; nothing is sent and nothing is stored.
create view regress.stored as
select (select count(*) from rea.work_event) as events, (select count(*) from rea.work_instance) as instances,
       (select count(*) from rea.work_wait) as waits;
create table regress.stored_before as select * from regress.stored;
create function regress.simulated(workflow jsonb, mocks jsonb default '{}')
returns table (at interval, path text, subject text, status text, no integer, error_code text, detail text)
language sql as $$
    select s.at, s.path, s.subject, s.status, s.attempt_no, s.error_code, s.detail
    from rea.simulate(workflow, '{"event_type": "order.created", "biz_key": "SO-1", "event_id": "e-1",
                                  "payload": {"sku": "TEA 1", "qty": 2, "price": 1.50, "lines": ["a", "b", "c"]}}', mocks)
         with ordinality s
    order by s.ordinality
$$;

-- Retries: requests as they would be sent, back-off with the middle of the jitter, the outputs that are kept.
create view regress.order_flow as select '{
    "workflowName": "simulatedFlow", "triggerEvent": "order.created", "actions": [
    {"name": "deductStock", "type": "http", "output": {"id": "${response.body.id}"}, "retryPolicy": {"maxRetries": 2, "backoffMs": 1000},
     "config": {"method": "PUT", "url": "http://stock.internal/deduct/${payload.sku}", "timeoutMs": 3000,
                "headers": {"X-Order": "${event.bizKey}"}, "query": {"by": "${action.name}"}, "body": {"qty": "${payload.qty}", "price": "${payload.price}"}},
     "compensate": {"type": "http", "config": {"url": "http://stock.internal/restore", "timeoutMs": 3000, "body": {"id": "${steps.deductStock.output.id}"}}}},
    {"name": "gift", "type": "http", "when": "$.payload.qty > 10", "compensate": "keep", "config": {"url": "http://gift.internal/", "timeoutMs": 1000}},
    {"name": "awaitPayment", "type": "wait", "config": {"any": [{"eventType": "order.paid", "match": {"ok": true}}, {"eventType": "order.gone"}], "timeoutSeconds": 3600}},
    {"name": "notify", "type": "http", "config": {"url": "http://mail.internal/", "timeoutMs": 1000}}
    ], "output": {"id": "${steps.deductStock.output.id}", "by": "${steps.awaitPayment.output.eventType}"}}'::jsonb as definition;
select s.at, s.kind, s.subject, s.status, s.attempt_no as no, s.error_code, s.detail, s.cost_ms
from regress.order_flow f
cross join lateral rea.simulate(f.definition,
    '{"event_type": "order.created", "biz_key": "SO-1", "event_id": "e-1", "payload": {"sku": "TEA 1", "qty": 2, "price": 1.50}}',
    '{"actions": {"deductStock": [{"status": 503, "costMs": 30}, {"fail": "timeout"}, {"status": 200, "body": {"id": 7}}]},
      "events": [{"afterSeconds": 60, "event_type": "order.paid", "biz_key": "SO-1", "payload": {"ok": false}},
                 {"afterSeconds": 90, "event_type": "order.paid", "biz_key": "SO-1", "payload": {"ok": true}}]}') with ordinality s
order by s.ordinality;
select s.subject, s.request, s.output
from regress.order_flow f
cross join lateral rea.simulate(f.definition,
    '{"event_type": "order.created", "biz_key": "SO-1", "event_id": "e-1", "payload": {"sku": "TEA 1", "qty": 2, "price": 1.50}}',
    '{"actions": {"deductStock": {"status": 200, "body": {"id": 7}}},
      "events": [{"afterMs": -500, "event_type": "order.paid", "biz_key": "SO-1", "payload": {"ok": true}, "occurred_at": "2026-01-31 10:00+00"}]}') with ordinality s
where s.request is not null or s.output is not null
order by s.ordinality;

-- Nobody pays: the wait fails, what was done is undone.
select s.* from regress.order_flow f cross join lateral regress.simulated(f.definition, '{"actions": {"deductStock": {"status": 200, "body": {"id": 7}}, "deductStock~undo": [{"status": 500}, {"status": 200}]}}') s;

-- Branches side by side, by the time they take.
select * from regress.simulated('{"workflowName": "w", "triggerEvent": "a", "actions": [
    {"name": "both", "type": "parallel", "branches": {
        "slow": [{"name": "s1", "type": "http", "compensate": "keep", "config": {"url": "http://s/", "timeoutMs": 1000}},
                 {"name": "s2", "type": "http", "compensate": "keep", "config": {"url": "http://s/", "timeoutMs": 1000}}],
        "quick": [{"name": "q1", "type": "http", "compensate": "keep", "config": {"url": "http://q/", "timeoutMs": 1000}}]}},
    {"name": "each", "type": "foreach", "config": {"items": "${payload.lines}", "maxConcurrency": 2, "actions": [
        {"name": "line", "type": "http", "config": {"url": "http://l/${item}", "timeoutMs": 1000}}]}}]}',
    '{"actions": {"s1": {"status": 200, "costMs": 40}, "q1": {"status": 200, "costMs": 50},
                  "line": {"status": 200, "costMs": 10}, "line[1]": {"status": 404}}}');

-- Calls in the database and scripts are mocked by what they give or raise; a default is for what fits.
create function regress.simulated_call(context jsonb) returns jsonb language sql as 'select context';
select s.subject, s.attempt_no as no, s.status, s.error_code, s.detail,
       s.request - 'args' #- '{envelope,occurredAt}' as request, s.output
from rea.simulate('{"workflowName": "w", "triggerEvent": "a", "actions": [
    {"name": "call", "type": "local", "config": {"function": "regress.simulated_call", "timeoutMs": 500}, "output": {"r": "${response.body}"}},
    {"name": "tell", "type": "message", "config": {"transport": "notify", "topic": "orders", "kind": "event", "payload": {"r": "${steps.call.output.r}"}}, "onError": "continue"},
    {"name": "say", "type": "emit", "config": {"eventType": "order.ready", "payload": {"n": 1}}}]}'::jsonb,
    '{"event_type": "a", "biz_key": "b"}',
    '{"actions": {"call": [{"error": {"code": "40001", "message": "collision"}}, {"fail": "timeout"}, {"result": [1.50]}]},
      "default": {"error": {"code": "P0001", "message": "no", "retry": false}}}') with ordinality s
where s.kind <> 'status' order by s.ordinality;

-- The deadline; a workflow that pauses; one that waits for what does not come.
select * from regress.simulated('{"workflowName": "w", "triggerEvent": "a", "timeoutSeconds": 5, "actions": [
    {"name": "a", "type": "http", "config": {"url": "http://a/", "timeoutMs": 2000}}]}', '{"default": {"fail": "timeout"}}');
select * from regress.simulated('{"workflowName": "w", "triggerEvent": "a", "actions": [
    {"name": "a", "type": "http", "onError": "pause", "config": {"url": "http://a/", "timeoutMs": 2000}}]}', '{"actions": {"a": {"status": 404}}}');
select * from regress.simulated('{"workflowName": "w", "triggerEvent": "a", "actions": [
    {"name": "a", "type": "wait", "config": {"all": [{"eventType": "never"}]}}]}');

-- A stored workflow, in the version in force or an older one; an exported event is taken as it is.
select regress.define('{"workflowName": "storedFlow", "triggerEvent": "stored.made", "actions": [
    {"name": "first", "type": "http", "config": {"url": "http://one.internal/", "timeoutMs": 1000}}]}') as version;
select regress.define('{"workflowName": "storedFlow", "triggerEvent": "stored.made", "actions": [
    {"name": "second", "type": "http", "config": {"url": "http://two.internal/", "timeoutMs": 1000, "body": {"v": "${instance.workflowVersion}", "t": "${event.time}"}}}]}') as version;
select v.version, s.subject, s.status, s.request ->> 'url' as url, s.request -> 'body' as body
from (values (1), (2), (null)) v (version)
cross join lateral rea.simulate('storedFlow', '{"event_type": "stored.made", "biz_key": "k", "occurred_at": "2026-01-31 10:00+00", "eventUid": null}', version => v.version) s
where s.kind = 'attempt';

-- What cannot be played is refused like a definition.
call regress.refused($$ select * from rea.simulate('nobodyFlow', '{"event_type": "a", "biz_key": "b"}') $$);
call regress.refused($$ select * from rea.simulate('{"workflowName": "w"}', '{"event_type": "a", "biz_key": "b"}') $$);
call regress.refused($$ select * from rea.simulate('storedFlow', '{"event_type": "a", "biz_key": "b"}', version => 9) $$);
call regress.refused($$ select * from rea.simulate('{"workflowName": "w", "triggerEvent": "a", "actions": []}'::jsonb, '{"event_type": "a", "biz_key": "b"}') $$);
call regress.refused($$ select * from rea.simulate('storedFlow', '{"eventType": "a", "biz_key": "b"}') $$);
call regress.refused($$ select * from rea.simulate('storedFlow', '{"event_type": "a", "biz_key": "b", "occurred_at": "soon"}') $$);
call regress.refused($$ select * from rea.simulate('storedFlow', '{"event_type": "a", "biz_key": "b"}', '{"actions": {"secnd": {"status": 200}}}') $$);
call regress.refused($$ select * from rea.simulate('storedFlow', '{"event_type": "a", "biz_key": "b"}', '{"actions": {"second": {"state": 200}}}') $$);
call regress.refused($$ select * from rea.simulate('storedFlow', '{"event_type": "a", "biz_key": "b"}', '{"actions": {"second": {"result": 200}}}') $$);
call regress.refused($$ select * from rea.simulate('storedFlow', '{"event_type": "a", "biz_key": "b"}', '{"event": []}') $$);
call regress.refused($$ select * from rea.simulate('storedFlow', null) $$);
call regress.refused($$ select * from rea.simulate('{"workflowName": "w", "triggerEvent": "a", "actions": [
    {"name": "each", "type": "foreach", "config": {"items": "${payload.lines[*]}", "maxConcurrency": 100, "actions": [
        {"name": "line", "type": "wait", "config": {"durationSeconds": 1}}]}}]}'::jsonb,
    jsonb_build_object('event_type', 'a', 'biz_key', 'b', 'payload', jsonb_build_object('lines', (select jsonb_agg(n) from generate_series(1, 5000) n)))) $$);

select s.events - b.events as events, s.instances - b.instances as instances, s.waits - b.waits as waits
from regress.stored s, regress.stored_before b;
