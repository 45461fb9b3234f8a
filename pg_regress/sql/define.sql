-- define_workflow and validate_workflow: every kind of mistake is named with its place, and with its remedy where there is one.
\pset format unaligned
\pset null ∅
-- What is wrong with a definition that is right but for the members given. `place` is where they are merged: the workflow, its action or the config.
create function regress.mistakes(place text, members jsonb)
returns table (severity text, path text, code text, message text, hint text) language sql as $$
    select v.* from (values (
        '{"workflowName": "defineFlow", "triggerEvent": "define.made"}'::jsonb,
        '{"name": "call", "type": "http"}'::jsonb, '{"url": "http://stock.internal/deduct", "timeoutMs": 1000}'::jsonb)) d (workflow, action, config),
    lateral (select d.config || case place when 'config' then members else '{}' end) c (config),
    lateral (select d.action || jsonb_build_object('config', c.config) || case place when 'action' then members else '{}' end) a (action),
    lateral (select d.workflow || jsonb_build_object('actions', jsonb_build_array(a.action))
                    || case place when 'workflow' then members else '{}' end) w (workflow),
    lateral rea.validate_workflow(w.workflow) v
$$;
create procedure regress.show(place text, variants jsonb) language plpgsql as $$
declare
    variant jsonb;
    told record;
    clean boolean;
begin
    for variant in select jsonb_array_elements(variants) loop
        raise notice '% %', place, variant;
        clean := true;
        for told in select * from regress.mistakes(place, variant) loop
            clean := false;
            raise notice '  % % %: %', told.severity, told.code, told.path, concat_ws(E'\n    → ', told.message, told.hint);
        end loop;
        if clean then raise notice '  flawless'; end if;
    end loop;
end
$$;

-- The definition itself
select v.* from rea.validate_workflow('[]') v;
select v.* from rea.validate_workflow('"text"') v;
select v.* from rea.validate_workflow('{}') v;
select v.* from rea.validate_workflow('{"workflowName": "defineFlow", "actions": []}') v;
select v.* from rea.validate_workflow('{"workflowName": "defineFlow", "actions": [7]}') v;
select v.* from rea.validate_workflow('{"workflowName": "defineFlow", "actions": [{}]}') v;
select v.* from rea.validate_workflow('{"workflowName": "defineFlow", "actions": [{"name": "a", "type": "http"}]}') v;
select v.* from rea.validate_workflow('{"workflowName": "defineFlow", "actions": [{"name": "a", "type": "http", "config": {}}]}') v;
call regress.refused('select v.* from rea.validate_workflow(null) v');

-- Every action states its time: without timeoutMs there is no definition.
select rea.define_workflow('{"workflowName": "defineFlow", "actions": [{"name": "a", "type": "http", "config": {"url": "http://stock.internal/"}}]}');
-- All mistakes come at once; message and hint are those of the first.
select rea.define_workflow('{"workflowName": "defineFlow", "trigerEvent": "define.made", "actions": [
    {"name": "a", "type": "http", "retryPolicy": {"maxAttempts": 3}, "config": {"url": "http://stock.internal/", "timeoutMs": 1000, "body": {"x": "${payload.x", "y": "${$.a[}"}}}]}');
call regress.refused($$ select rea.define_workflow('{"workflowName": "defineFlow"}') $$);
call regress.refused('select rea.define_workflow(null)');

-- The workflow
call regress.show('workflow', '[{}, {"workflowNmae": "x"}, {"name": "x"}, {"timeoutMs": 5}, {"mode": "parallel"}, {"workflowName": ""}, {"workflowName": 7},
    {"workflowName": "a\u0001b"}, {"triggerEvent": ""}, {"triggerEvent": "*"}, {"triggerEvent": ".*"}, {"triggerEvent": "a.*.b"}, {"triggerEvent": "order.*"},
    {"triggerEvent": 7}, {"routeGroup": ""}, {"priority": "high"}, {"priority": 1.5}, {"priority": 3000000000}, {"timeoutSeconds": 0}, {"timeoutSeconds": "5m"},
    {"match": 7}, {"match": {"channel": "wechat"}}, {"match": "$.payload.amount > 100"}, {"match": "$.payload.amount"}, {"match": "$.payload.amount >"},
    {"match": "${payload.amount} > 1"}, {"match": "$.steps.call.output == 1"}, {"match": "$.payload.a == $x"}, {"output": {"x": "${steps.call.output.id}"}},
    {"output": "text"}, {"output": {"x": "${response.body}"}}, {"notify": {}}, {"concurrency": 1}, {"cancelOn": []}]');
call regress.show('workflow', jsonb_build_array(jsonb_build_object('workflowName', repeat('x', 256))));
-- The retry policy
call regress.show('workflow', '[{"retryPolicy": []}, {"retryPolicy": {"maxRetries": 0}}, {"retryPolicy": {"maxRetries": -1}}, {"retryPolicy": {"maxRetries": 1.5}}, {"retryPolicy": {"maxAttempts": 3}},
    {"retryPolicy": {"multiplier": 2}}, {"retryPolicy": {"backoffMultiplier": 0.5}}, {"retryPolicy": {"backoffMs": 0}}, {"retryPolicy": {"jitter": 1.1}},
    {"retryPolicy": {"schedule": []}}, {"retryPolicy": {"schedule": [1, -1]}}, {"retryPolicy": {"schedule": [1, 5], "backoffMs": 5}}, {"retryPolicy": {"maxElapsedSeconds": 0}},
    {"retryPolicy": {"retryOn": ["503", 503, "5xx", "timeout"]}}, {"retryPolicy": {"retryOn": ["6xx"]}}, {"retryPolicy": {"retryOn": ["timeuot"]}}, {"retryPolicy": {"neverRetryOn": "503"}},
    {"retryPolicy": {"backoffMs": 600000}}, {"retryPolicy": {"maxRetrys": 1}}]');
-- The action
call regress.show('action', '[{"nmae": "x"}, {"name": "1st"}, {"name": "a-b"}, {"name": ""}, {"type": "htttp"}, {"type": 7}, {"url": "http://stock.internal/"}, {"timeoutMs": 5}, {"maxRetries": 3}, {"maxAttempts": 3},
    {"mode": "parallel"}, {"onError": "ignore"}, {"onError": "continu"}, {"onError": "pause"}, {"when": true}, {"when": null}, {"retryPolicy": null}, {"when": "$.payload.vip"}, {"when": "$.payload.vip == true"}, {"when": "payload.vip == true"},
    {"when": "$.payload.vip == tru"}, {"when": "${payload.vip}"}, {"when": "$.response.status == 200"}, {"when": ""}, {"lane": ""}, {"lane": "slow"}, {"output": []}, {"output": {"id": "${response.body.id}"}},
    {"output": {"id": "${respons.body.id}"}}, {"output": {"id": "${steps.call.output.id}"}}, {"output": {"a ${x}": 1}}, {"compensate": {"type": "http"}}, {"config": 7}]');
call regress.show('action', jsonb_build_array(jsonb_build_object('name', repeat('x', 65)), jsonb_build_object('name', repeat('x', 64))));
-- Other types of action have other configs; types of engines of another kind are unknown
call regress.show('action', '[{"type": "local"}, {"type": "lua"}, {"type": "emit"}, {"type": "message"}, {"type": "wait"}, {"type": "parallel"}, {"type": "foreach"}, {"type": "switch"}, {"type": "workflow"},
    {"type": "local", "config": {"beanClass": "com.shop.Stock", "method": "deduct"}}, {"type": "bean"}]');
-- The config of an HTTP call
call regress.show('config', '[{"timeout": 5}, {"timeoutMs": 0}, {"timeoutMs": "3s"}, {"timeoutMs": 3000.0}, {"timeoutMs": 86400001}, {"payload": {}}, {"beanClass": "x"}, {"retryPolicy": {}}, {"bodi": {}},
    {"method": "GTE"}, {"method": "get"}, {"method": "TRACE"}, {"method": 7}, {"url": 7}, {"url": ""}, {"url": "stock.internal/x"}, {"url": "ftp://stock.internal/"}, {"url": "http://"}, {"url": "http://user:pw@stock.internal/"},
    {"url": "http://${payload.host}/x"}, {"url": "http://stock.internal:${payload.port}/"}, {"url": "${payload.url}"}, {"url": "http://stock.internal/${payload.id}?x=${payload.x}#f"}, {"url": "http://stock.internal/a b"},
    {"headers": []}, {"headers": {"X-Ok": "${payload.x}"}}, {"headers": {"a b": "x"}}, {"headers": {"X-A": "x\r\ny"}}, {"headers": {"X-A": {}}}, {"headers": {"Host": "x"}}, {"headers": {"X-Rea-Req-Id": "x"}},
    {"headers": {"content-length": "1"}}, {"headers": {"Idempotency-Key": "x"}}, {"headers": {"X-A": "1", "x-a": "2"}}, {"headers": {"Traceparent": "x"}}, {"headers": {"webhook-id": "x"}}, {"idempotencyKeyHeader": "X-Key"},
    {"idempotencyKeyHeader": "a b"}, {"idempotencyKeyHeader": "Host"}, {"query": {"a": [1]}}, {"query": {"a": "${payload.a}", "b": 1, "c": true}}, {"format": "xml"}, {"format": "jsn"}, {"format": "form"}, {"format": "text", "body": {}},
    {"format": "form", "body": {"a": {}}}, {"format": "cloudevents"}, {"success": []}, {"success": ["2xx", 404]}, {"success": [99]}, {"idempotent": "yes"}, {"auth": {}}, {"sign": "x"}]');
-- Templates and paths
call regress.show('config', '[{"body": "${}"}, {"body": "${payload.x"}, {"body": "$${payload.x}"}, {"body": "${secret:KEY}"}, {"body": "${payload.$x}"}, {"body": "${$payload.x}"}, {"body": "${$.payload.x[$n]}"}, {"body": "${paylod.x}"}, {"body": "${item}"},
    {"body": "${response.body}"}, {"body": "${steps.later.output}"}, {"body": "${steps.call.output}"}, {"body": "${payload.x ?? none}"}, {"body": "${payload.x ?? \"none\"}"}, {"body": "${payload.a b}"}, {"body": "${payload[}"},
    {"body": "${payload.\"sku-code\"}"}, {"body": "${payload.sku-code}"}, {"body": "${payload.items[*].sku}"}, {"body": "${payload.items ? (@.n > 1)}"}, {"body": {"${payload.k}": 1}}, {"body": {"a/b": {"c~d": "${}"}}}, {"body": "${$.payload.x.size()}"}]');
-- Actions see what was before them, and only that.
select v.* from rea.validate_workflow('{"workflowName": "defineFlow", "actions": [
    {"name": "first", "type": "http", "config": {"url": "http://stock.internal/${steps.second.output.id}", "timeoutMs": 1000}},
    {"name": "second", "type": "http", "config": {"url": "http://stock.internal/${steps.frist.output.id}/${steps.first.body.id}", "timeoutMs": 1000}},
    {"name": "first", "type": "http", "config": {"url": "http://stock.internal/${steps.first.output.id}/${steps.first.status}", "timeoutMs": 1000}}],
    "output": {"x": "${steps.third.output}"}}') v;
-- Each of several mistakes in one string is told.
select v.* from rea.validate_workflow('{"workflowName": "defineFlow", "actions": [
    {"name": "first", "type": "http", "config": {"url": "http://stock.internal/${paylod.a}/${evnt.id}", "timeoutMs": 1000}}]}') v;
-- Deeper than JSON may be
select v.* from rea.validate_workflow(('{"workflowName": "defineFlow", "output": ' || repeat('{"a":', 127) || '1' || repeat('}', 127) || '}')::jsonb) v;
call regress.refused($$ select rea.define_route('defineDeep', 'define.made', 'defineFlow', match => (repeat('{"a":', 128) || '1' || repeat('}', 128))::jsonb) $$);
-- Nothing of all this was stored, and validate_workflow stores nothing either.
select count(*) as stored from rea.workflow where workflow_name = 'defineFlow';

-- Warnings accept the definition; they are told when it is defined, too.
select rea.define_workflow('{"workflowName": "defineWarned", "match": {"a": 1}, "retryPolicy": {"schedule": [1], "jitter": 0}, "actions": [
    {"name": "call", "type": "http", "config": {"url": "http://stock.internal/", "timeoutMs": 1000}}]}') as version;
-- The number of actions has a bound.
select v.* from rea.validate_workflow(jsonb_build_object('workflowName', 'defineFlow', 'actions',
    (select jsonb_agg(jsonb_build_object('name', 'a' || n, 'type', 'http', 'config', '{"url": "http://stock.internal/", "timeoutMs": 1}'::jsonb)) from generate_series(1, 1001) n))) v;
