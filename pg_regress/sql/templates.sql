-- Templates: what the receiver is sent, byte by byte, and what comes back into later actions and the result.
\pset format unaligned
\pset null ∅
-- Sends one request whose config has the given members; the event's payload is the second argument.
create procedure regress.send(key text, config jsonb, payload jsonb default '{}', output jsonb default null) language plpgsql as $$
begin
    perform rea.define_workflow(jsonb_build_object('workflowName', key, 'triggerEvent', key, 'actions', jsonb_build_array(jsonb_build_object(
        'name', 'send', 'type', 'http', 'output', coalesce(output, '{"got": "${response.body}"}'),
        'config', '{"timeoutMs": 5000}' || config || jsonb_build_object(
            'url', replace(coalesce(config ->> 'url', 'http://receiver/echo'), 'http://receiver', (select url from regress.receiver)))))));
    perform rea.fire_event(key, key, payload, attributes => '{"channel": "web"}', correlation_id => 'case-7', causation_id => 'cause-6');
    commit;
    call regress.wait_until_still(key);
end
$$;
create function regress.got(key text) returns jsonb language sql as $$
    select i.context -> 'send' -> 'output' -> 'got' from rea.instances i where i.biz_key = key
$$;

-- The body: a string that is one template keeps the type of the value, in longer text it becomes text.
call regress.send('bodyKinds', '{"body": {"string": "${payload.s}", "number": "${payload.n}", "true": "${payload.t}", "null": "${payload.z}", "object": "${payload.o}", "array": "${payload.a}",
    "inText": "${payload.s}-${payload.n}-${payload.t}-${payload.o}-${payload.a}", "fixed": [1.50, null, true, "x"], "literal": "$${payload.s} costs 5 $", "nested": [{"n": "${payload.n}"}]}}',
    '{"s": "he said \"hi\" \\ \u0001 ö 😀\n", "n": 12345678901234567890.1234567890, "t": true, "z": null, "o": {"k": [1, 2.50]}, "a": [3, "x"]}');
select regress.got('bodyKinds') ->> 'body' as body;
select (regress.got('bodyKinds') ->> 'body')::jsonb ->> 'string' = E'he said "hi" \\ \u0001 ö 😀\n' as unharmed;
-- The whole body may be one template; absent, it is the payload, with every digit.
call regress.send('bodyWhole', '{"body": "${payload.list}"}', '{"list": [0.10, 1e2, -0.000000000000000000001]}');
select regress.got('bodyWhole') ->> 'body' as body;
call regress.send('bodyPayload', '{}', '{"b": 100.00, "a": "ü", "c": 123456789012345678901234567890}');
select regress.got('bodyPayload') ->> 'body' as body, regress.got('bodyPayload') -> 'headers' ->> 'content-type' as content_type;
call regress.send('bodyNone', '{"body": null}', '{"a": 1}');
select regress.got('bodyNone') ->> 'body' as body, regress.got('bodyNone') -> 'headers' ->> 'content-type' as content_type;
call regress.send('bodyGet', '{"method": "get"}', '{"a": 1}');
select regress.got('bodyGet') ->> 'method' as method, regress.got('bodyGet') ->> 'body' as body;
call regress.send('bodyForm', '{"format": "form", "body": {"a b": "${payload.x}", "n": "${payload.n}"}}', '{"x": "ö&=+ /?", "n": 1.50}');
select regress.got('bodyForm') ->> 'body' as body, regress.got('bodyForm') -> 'headers' ->> 'content-type' as content_type;
call regress.send('bodyText', '{"format": "text", "body": "Hello ${payload.x}: ${payload.o}"}', '{"x": "ö\n", "o": {"a": 1}}');
select to_jsonb(regress.got('bodyText') ->> 'body') as body, regress.got('bodyText') -> 'headers' ->> 'content-type' as content_type;
-- What looks like a template in a payload is never evaluated.
call regress.send('bodyTrick', '{"body": {"x": "${payload.x}", "t": "<${payload.x}>"}, "url": "http://receiver/echo/${payload.x}"}', '{"x": "${event.id} $${y} {secret:k}"}');
select regress.got('bodyTrick') ->> 'body' as body, regress.got('bodyTrick') ->> 'path' as path;

-- URL and query: values are percent-encoded and cannot leave their place.
call regress.send('urlParts', '{"url": "http://receiver/echo/${payload.p}/end?a=${payload.p}", "query": {"q r": "${payload.p}", "n": "${payload.n}", "fixed": 1}}', '{"p": "../a/b?c=d&e#f%41 ö", "n": 1.50}');
select regress.got('urlParts') ->> 'path' as path, regress.got('urlParts') ->> 'query' as query;
call regress.send('urlDots', '{"url": "http://receiver/echo/${payload.p}/end"}', '{"p": ".."}');
call regress.send('urlEmpty', '{"url": "http://receiver/echo/${payload.p}/end"}', '{"p": ""}');
call regress.send('urlLong', '{"url": "http://receiver/echo/${payload.p}"}', jsonb_build_object('p', repeat('x', 64000)));
select o.workflow, o.status, o.code, o.error from unnest(array['urlDots', 'urlEmpty', 'urlLong']) k, regress.outcome(k) o;
-- The whole URL may come from the event.
create function regress.here(path text) returns jsonb language sql as $$ select jsonb_build_object('u', url || path) from regress.receiver $$;
call regress.send('urlWhole', '{"url": "${payload.u}"}', regress.here('/echo/whole?x=1'));
select regress.got('urlWhole') ->> 'path' as path, regress.got('urlWhole') ->> 'query' as query;
call regress.send('urlBad', '{"url": "${payload.u}"}', '{"u": "ftp://stock.internal/"}');
select status, code, error from regress.outcome('urlBad');
call regress.send('urlNumber', '{"url": "${payload.u}"}', '{"u": 7}');
select status, code, error from regress.outcome('urlNumber');

-- Headers: what a header cannot hold ends the action for good, before anything is sent.
call regress.send('headerFine', '{"headers": {"X-A": "${payload.x}", "X-B": "n=${payload.n}", "Content-Type": "application/vnd.shop+json"}}', '{"x": "a \"b\" ~", "n": 1.50}');
select regress.got('headerFine') -> 'headers' ->> 'x-a' as a, regress.got('headerFine') -> 'headers' ->> 'x-b' as b, regress.got('headerFine') -> 'headers' ->> 'content-type' as content_type;
call regress.send('headerBreak', '{"headers": {"X-A": "${payload.x}"}}', '{"x": "a\r\nX-B: b"}');
call regress.send('headerUmlaut', '{"headers": {"X-A": "${payload.x}"}}', '{"x": "ö"}');
call regress.send('headerLong', '{"headers": {"X-A": "${payload.x}"}}', jsonb_build_object('x', repeat('x', 9000)));
select o.status, o.code, o.error from unnest(array['headerBreak', 'headerUmlaut', 'headerLong']) k, regress.outcome(k) o;
-- What rea itself says in headers
call regress.send('headerOwn', '{"idempotencyKeyHeader": "X-My-Key"}');
select i.instance_id as instance, i.event_id as event from rea.instances i where i.biz_key = 'headerOwn' \gset
select h.name, replace(replace(regexp_replace(h.value, '^rea/\d+\.\d+\.\d+$', 'rea/VERSION'), :'instance', 'INSTANCE'), :'event', 'EVENT') as value from jsonb_each_text(regress.got('headerOwn') -> 'headers') h (name, value)
where h.name like 'x-%' or h.name in ('user-agent', 'idempotency-key', 'traceparent', 'content-type') order by 1;
select replace(regress.got('bodyForm') -> 'headers' ->> 'idempotency-key', i.instance_id::text, 'INSTANCE') as usual_key from rea.instances i where i.biz_key = 'bodyForm';
-- An event id that a header cannot hold is percent-encoded there.
select regress.define('{"workflowName": "headerId", "triggerEvent": "headerId", "actions": [{"name": "send", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}, "output": {"got": "${response.body}"}}]}') as version;
select rea.fire_event('headerId', 'headerId', attributes => '{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}', event_id => E'ö 100%\r\nX-B: b') is not null as fired;
call regress.wait_until_still('headerId');
select regress.got('headerId') -> 'headers' ->> 'x-rea-event-id' as event_id, regress.got('headerId') -> 'headers' ->> 'x-b' as smuggled;
-- The trace goes on: same trace, new span.
select regexp_replace(t, '-[0-9a-f]{16}-', '-SPAN-') as traceparent, t like '%b7ad6b7169203331%' as same_span from (select regress.got('headerId') -> 'headers' ->> 'traceparent') h (t);

-- The context: event, payload, instance, action
call regress.send('contextAll', '{"body": {"event": "${event}", "type": "${$.event.type}", "source": "${event.source}", "key": "${event.bizKey}", "channel": "${event.attributes.channel}",
    "correlation": "${event.correlationId}", "causation": "${event.causationId}", "instance": "${instance}", "workflow": "${instance.workflowName}", "version": "${instance.workflowVersion}", "action": "${action.name}", "idempotencyKey": "${action.idempotencyKey}"}}');
select i.instance_id as instance, i.event_id as event from rea.instances i where i.biz_key = 'contextAll' \gset
select replace(replace(regexp_replace(regress.got('contextAll') ->> 'body', '"time": ?"[^"]+"', '"time": "TIME"'), :'instance', 'INSTANCE'), :'event', 'EVENT') as body;

-- Missing and null values, and defaults
call regress.send('missing', '{"body": {"x": "${payload.x.y}"}}', '{"x": {}}');
call regress.send('missingText', '{"body": "a ${payload.x} b"}');
call regress.send('missingUrl', '{"url": "http://receiver/echo/${payload.x}"}');
select o.workflow, o.status, o.retries, o.code, o.error from unnest(array['missing', 'missingText', 'missingUrl']) k, regress.outcome(k) o;
call regress.send('defaults', '{"body": {"string": "${payload.x ?? \"none\"}", "number": "${payload.x ?? 1.50}", "null": "${payload.z ?? null}", "of null": "${payload.z ?? \"was null\"}", "object": "${payload.x ?? {\"a\": [1, \"}\"]}}",
    "not used": "${payload.y ?? 7}", "in text": "<${payload.x ?? \"??\"}>", "false stays": "${payload.f ?? true}", "empty stays": "${payload.e ?? \"x\"}"}}', '{"z": null, "y": 8, "f": false, "e": ""}');
select regress.got('defaults') ->> 'body' as body;
-- Many values
call regress.send('many', '{"body": {"skus": "${payload.items[*].sku}", "none": "${payload.items[*].missing}", "large": "${payload.items ? (@.n > 1).sku}", "text": "all: ${payload.items[*].n}", "values": "${payload.items[0].*}", "last": "${payload.items[last].sku}"}}',
    '{"items": [{"n": 1, "sku": "cup"}, {"n": 2.50, "sku": "pot"}]}');
select regress.got('many') ->> 'body' as body;
call regress.send('manyRefused', '{"body": {"x": "${payload.items.sku}"}}', '{"items": [{"sku": "cup"}, {"sku": "pot"}]}');
select status, retries, code, error from regress.outcome('manyRefused');
-- Quoted keys, methods and arithmetic are PostgreSQL's.
call regress.send('paths', '{"body": {"quoted": "${payload.\"sku-code}\"}", "size": "${payload.items.size()}", "sum": "${$.payload.items[0] + $.payload.items[1]}", "type": "${payload.items.type()}", "unicode": "${payload.größe}"}}',
    '{"sku-code}": "S", "items": [0.1, 0.2], "größe": "L"}');
select regress.got('paths') ->> 'body' as body;

-- output: only what it lists is kept; status, headers and body of the answer can be read.
call regress.send('answer', '{"url": "http://receiver/say/%7B%22id%22:9007199254740993.10,%22list%22:%5B1,2%5D%7D"}', '{}', '{"id": "${response.body.id}", "all": "${response.body}", "status": "${response.status}", "type": "${response.headers.\"content-type\"}", "text": "${response.body.list[*]}", "from": "${event.bizKey}"}');
select i.status, i.context -> 'send' -> 'output' as output from rea.instances i where i.biz_key = 'answer';
call regress.send('answerText', '{"url": "http://receiver/say/not%20json%00%20%F0%9F%98%80"}');
select to_jsonb(regress.got('answerText')) as answer;
call regress.send('answerEmpty', '{"url": "http://receiver/status/204"}', '{}', '{"body": "${response.body}", "status": "${response.status}"}');
select i.status, i.context from rea.instances i where i.biz_key = 'answerEmpty';
call regress.send('answerMissing', '{"url": "http://receiver/say/%7B%7D"}', '{}', '{"id": "${response.body.id}"}');
select status, retries, code, error from regress.outcome('answerMissing');
call regress.send('answerLarge', '{"url": "http://receiver/echo", "body": "${payload.x}"}', jsonb_build_object('x', repeat('x', 70000)));
select status, retries, code, error from regress.outcome('answerLarge');

-- From one action to the next, and to the workflow's result
select regress.define('{"workflowName": "chain", "triggerEvent": "chain.made", "actions": [
    {"name": "reserve", "type": "http", "config": {"url": "http://receiver/say/%7B%22id%22:1.10%7D", "timeoutMs": 5000}, "output": {"id": "${response.body.id}", "who": {"key": "${event.bizKey}"}}},
    {"name": "silent", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}},
    {"name": "confirm", "type": "http", "config": {"url": "http://receiver/echo/${steps.reserve.output.id}", "timeoutMs": 5000, "body": {"reservation": "${steps.reserve.output.id}", "who": "${steps.reserve.output.who}", "silent": "${steps.silent.status}"}},
     "output": {"sent": "${response.body.body}", "path": "${response.body.path}"}}],
    "output": {"reservation": "${steps.reserve.output.id}", "confirmed": "${steps.confirm.output}", "key": "${event.bizKey}"}}') as version;
call regress.run('chain.made', 'chain');
select i.status, i.context -> 'silent' as silent, i.result from rea.instances i where i.biz_key = 'chain';
select rea.operation(e.event_id) -> 'result' as result from rea.work_event e where e.biz_key = 'chain';
-- A result that cannot be made ends the instance as FAILED, after its last action.
select regress.define('{"workflowName": "chainBroken", "triggerEvent": "chain.broken", "actions": [{"name": "call", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}], "output": {"x": "${steps.call.output.missing}"}}') as version;
call regress.run('chain.broken', 'chainBroken');
select status, action, code, error, steps from regress.outcome('chainBroken');
