-- lua: scripts run as actions: state changes with the success, calls and log are kept, an instance keeps the version it
-- started with.
select rea.set_config('lua.step', '3');
select rea.define_script('luaCount', $luau$
local n = (rea.kv.get('n') or 0) + rea.config('lua.step')
rea.kv.set('n', n)
rea.log('counted to ' .. n)
rea.log('debug', 'not kept')
if args.fails then rea.fail('asked to', 'asked_for') end
local reply = rea.http{method = 'POST', url = args.url, body = '{}', timeoutMs = 5000}
return {n = n, status = reply.status, key = ctx.event.bizKey, item = args.item}
$luau$);
select regress.define('{"workflowName": "lua.count", "triggerEvent": "lua.count", "actions": [
    {"name": "count", "type": "lua", "retryPolicy": {"maxRetries": 0},
     "config": {"script": "luaCount", "timeoutMs": 5000,
                "args": {"url": "http://receiver/say/1", "item": "${payload.item}", "fails": "${payload.fails ?? false}"}},
     "output": {"said": "${response.body}"}}]}');
call regress.run('lua.count', 'lua-1', '{"item": {"empty": [], "none": null, "big": 12345678901234567890}}');
call regress.run('lua.count', 'lua-2', '{"item": 1, "fails": true}');
call regress.run('lua.count', 'lua-3', '{"item": 2}');
select i.biz_key, i.status, i.error_code, i.error, i.context #> '{count,output,said}' as said, i.scripts
from rea.work_instance i where i.biz_key like 'lua-%' order by i.biz_key;
-- What failed has set nothing.
select k.key, k.value from rea.kv k where k.workflow_name = 'lua.count';
-- Each call and each line, without times.
select i.biz_key, c.value ->> 'kind' as call, regress.hide_receiver(c.value ->> 'target') as target, c.value ->> 'result' as result
from rea.work_action_log a join rea.work_instance i using (instance_id), jsonb_array_elements(a.calls) with ordinality c (value, place)
where i.biz_key like 'lua-%' order by i.biz_key, c.place;
select i.biz_key, l.value ->> 'level' as level, l.value ->> 'text' as text
from rea.work_action_log a join rea.work_instance i using (instance_id), jsonb_array_elements(a.log) l
where i.biz_key like 'lua-%' order by i.biz_key;
-- A script asks for another try, and gets it.
select regress.define('{"workflowName": "lua.again", "triggerEvent": "lua.again", "retryPolicy": {"schedule": [0.01, 0.01]}, "actions": [
    {"name": "try", "type": "lua", "config": {"source": "if (rea.kv.get(\"seen\") or 0) == 0 then rea.retry(\"not yet\") end"}}]}');
call regress.run('lua.again', 'lua-4');
select a.attempt_no, a.status, a.error_code, a.error_msg from rea.work_action_log a join rea.work_instance i using (instance_id)
where i.biz_key = 'lua-4' order by a.log_id;
-- The worst end at their limits, and the next script sees a clean world.
select regress.define('{"workflowName": "lua.worst", "triggerEvent": "lua.worst", "retryPolicy": {"maxRetries": 0}, "actions": [
    {"name": "loops", "type": "lua", "onError": "continue", "config": {"source": "stray = 1 while true do pcall(function() while true do end end) end", "timeoutMs": 200}},
    {"name": "eats", "type": "lua", "onError": "continue", "config": {"source": "local t = {} while true do t[#t + 1] = #t .. string.rep(\"x\", 100000) end", "timeoutMs": 5000, "memoryMb": 8}},
    {"name": "clean", "type": "lua", "config": {"source": "return {stray = stray == nil}"}, "output": {"b": "${response.body}"}}]}');
call regress.run('lua.worst', 'lua-5');
select a.action_name, a.status, a.error_code from rea.work_action_log a join rea.work_instance i using (instance_id)
where i.biz_key = 'lua-5' order by a.log_id;
select i.context #> '{clean,output}' as clean from rea.work_instance i where i.biz_key = 'lua-5';
