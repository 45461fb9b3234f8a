-- message: what is sent, and what may not be sent.
select rea.define_workflow('{"workflowName": "messageFlow", "triggerEvent": "message.made", "actions": [
    {"name": "tell", "type": "message", "config": {"transport": "notify", "topic": "${payload.topic}", "kind": "event", "payload": {"n": "${payload.n}"}}},
    {"name": "log", "type": "message", "config": {"transport": "logical", "topic": "rea_regress", "kind": "command", "type": "PackOrder"}}]}');
call regress.run('message.made', 'message-1', '{"topic": "regress_orders", "n": 1.10}');
select status, code, error, steps from regress.outcome('message-1');
select l.action_name, l.status, regexp_replace(l.request_summary, '[0-9a-f-]{36}', 'ID') as request
from rea.work_action_log l join rea.work_instance i using (instance_id) where i.biz_key = 'message-1' order by l.log_id;
select transport, topic, kind from rea.message_topic order by 1, 2;
-- Commands and events never share a topic.
select rea.define_workflow('{"workflowName": "messageCommand", "triggerEvent": "message.command", "actions": [
    {"name": "tell", "type": "message", "config": {"transport": "notify", "topic": "${payload.topic}", "kind": "command"}}]}');
call regress.run('message.command', 'message-2', '{"topic": "regress_orders"}');
call regress.run('message.command', 'message-3', '{"topic": "regress_commands"}');
-- A notification is small, a topic is a name.
call regress.run('message.command', 'message-4', jsonb_build_object('topic', 'regress_commands', 'long', repeat('x', 8000)));
call regress.run('message.command', 'message-5', jsonb_build_object('topic', repeat('x', 64)));
call regress.run('message.command', 'message-6', '{"topic": ""}');
select o.* from unnest(array['message-2', 'message-3', 'message-4', 'message-5', 'message-6']) k, lateral (select k, status, code, regexp_replace(error, 'has \d+ bytes', 'has N bytes') as error from regress.outcome(k)) o;
