-- onError: what follows when an action has failed for good: fail, continue or pause.
create function regress.on_error(name text, on_error text, path text) returns integer language sql as $$
    select regress.define(format('{"workflowName": "%1$s", "triggerEvent": "%1$s", "retryPolicy": {"maxRetries": 1, "backoffMs": 10}, "actions": [
        {"name": "before", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}},
        {"name": "call", "type": "http", %2$s "config": {"url": "http://receiver%3$s", "timeoutMs": 5000}, "output": {"seen": "${response.body.seen}"}},
        {"name": "after", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000, "body": {"call": "${steps.call.status}", "seen": "${steps.call.output.seen ?? 0}"}}, "output": {"sent": "${response.body.body}"}}]}',
        name, case when on_error <> '' then format('"onError": "%s",', on_error) else '' end, path))
$$;
create view regress.told as
select i.workflow_name, i.status, i.phase, i.current_action, i.error_code, i.steps, i.context -> 'call' as call, i.context -> 'after' -> 'output' ->> 'sent' as after_sent from rea.instances i;

-- fail is the default: what comes after is not run.
select regress.on_error('onErrorDefault', '', '/status/400'), regress.on_error('onErrorFail', 'fail', '/status/400');
call regress.run('onErrorDefault', 'onErrorDefault');
call regress.run('onErrorFail', 'onErrorFail');
select * from regress.told where workflow_name in ('onErrorDefault', 'onErrorFail') order by 1;
-- continue: the failure is recorded, the flow goes on; also when the retries are used up.
select regress.on_error('onErrorContinue', 'continue', '/status/400'), regress.on_error('onErrorContinueDead', 'continue', '/status/503');
call regress.run('onErrorContinue', 'onErrorContinue');
call regress.run('onErrorContinueDead', 'onErrorContinueDead');
select * from regress.told where workflow_name like 'onErrorContinue%' order by 1;
select i.workflow_name, l.action_name, l.attempt_no, l.status, l.error_code from rea.work_action_log l join rea.work_instance i using (instance_id)
where i.workflow_name like 'onErrorContinue%' order by 1, l.log_id;
select count(*) as dead_letters from rea.dead_letters where workflow_name like 'onErrorContinue%';
-- pause: a person decides. The instance is alive, says what it waits for, and is no dead letter.
select regress.on_error('onErrorPause', 'pause', '/first/2/503/echo');
call regress.run('onErrorPause', 'onErrorPause');
select * from regress.told where workflow_name = 'onErrorPause';
select q.waiting_for, q.error from rea.query_instance('onErrorPause') q;
select rea.operation(e.event_id) - 'operationId' as operation from rea.work_event e where e.biz_key = 'onErrorPause';
select count(*) as dead_letters from rea.dead_letters where workflow_name = 'onErrorPause';
-- resume_instance: again from the action that failed.
select i.instance_id as paused from rea.instances i where i.biz_key = 'onErrorPause' \gset
select rea.resume_instance(:'paused') as status;
call regress.wait_until_still('onErrorPause');
select * from regress.told where workflow_name = 'onErrorPause';
select l.old_status, l.new_status, l.cause from rea.work_instance_log l where l.instance_id = :'paused' order by l.log_id;
call regress.refused(format('select rea.resume_instance(%L)', :'paused'));
-- retry_instance does the same for a paused one; pausing may happen again.
select regress.on_error('onErrorTwice', 'pause', '/first/3/400/echo');
call regress.run('onErrorTwice', 'onErrorTwice');
select rea.retry_instance(i.instance_id) as status from rea.instances i where i.biz_key = 'onErrorTwice';
call regress.wait_until_still('onErrorTwice');
select rea.resume_instance(i.instance_id) as status from rea.instances i where i.biz_key = 'onErrorTwice';
call regress.wait_until_still('onErrorTwice');
select status, error_code, steps from regress.told where workflow_name = 'onErrorTwice';
select rea.resume_instance(i.instance_id) as status from rea.instances i where i.biz_key = 'onErrorTwice';
call regress.wait_until_still('onErrorTwice');
select status, error_code, steps, after_sent from regress.told where workflow_name = 'onErrorTwice';
-- What resume_instance refuses
select i.instance_id as failed from rea.instances i where i.biz_key = 'onErrorFail' \gset
call regress.refused(format('select rea.resume_instance(%L)', :'failed'));
call regress.refused($$ select rea.resume_instance('00000000-0000-7000-8000-000000000000') $$);
call regress.refused($$ select rea.resume_instance(null) $$);
-- A failure in a template is a failure of its action like any other.
select regress.define('{"workflowName": "onErrorTemplate", "triggerEvent": "onErrorTemplate", "actions": [
    {"name": "call", "type": "http", "onError": "continue", "config": {"url": "http://receiver/echo/${payload.missing}", "timeoutMs": 5000}},
    {"name": "after", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}]}');
call regress.run('onErrorTemplate', 'onErrorTemplate');
select status, steps, call from regress.told where workflow_name = 'onErrorTemplate';
