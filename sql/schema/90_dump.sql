-- What pg_dump carries: every table with something of the user's in it. Left out on purpose: work_generation and
-- lane_stat, which describe processes that a restored database does not have.

select pg_catalog.pg_extension_config_dump('rea.work_event', '');
select pg_catalog.pg_extension_config_dump('rea.work_event_key', '');
select pg_catalog.pg_extension_config_dump('rea.work_delayed', '');
select pg_catalog.pg_extension_config_dump('rea.work_inbox', '');
select pg_catalog.pg_extension_config_dump('rea.work_inbox_inbox_id_seq', '');
select pg_catalog.pg_extension_config_dump('rea.work_unrouted', '');
select pg_catalog.pg_extension_config_dump('rea.workflow', '');
select pg_catalog.pg_extension_config_dump('rea.workflow_version', '');
select pg_catalog.pg_extension_config_dump('rea.route', '');
select pg_catalog.pg_extension_config_dump('rea.schedule', '');
select pg_catalog.pg_extension_config_dump('rea.script', '');
select pg_catalog.pg_extension_config_dump('rea.config', '');
select pg_catalog.pg_extension_config_dump('rea.work_kv', '');
select pg_catalog.pg_extension_config_dump('rea.work_instance', '');
select pg_catalog.pg_extension_config_dump('rea.work_queue', '');
select pg_catalog.pg_extension_config_dump('rea.work_signal', '');
select pg_catalog.pg_extension_config_dump('rea.work_request', '');
select pg_catalog.pg_extension_config_dump('rea.work_request_request_id_seq', '');
select pg_catalog.pg_extension_config_dump('rea.work_wait', '');
select pg_catalog.pg_extension_config_dump('rea.work_wait_event', '');
select pg_catalog.pg_extension_config_dump('rea.work_place', '');
select pg_catalog.pg_extension_config_dump('rea.work_place_turn_seq', '');
select pg_catalog.pg_extension_config_dump('rea.work_action_log', '');
select pg_catalog.pg_extension_config_dump('rea.work_instance_log', '');
select pg_catalog.pg_extension_config_dump('rea.work_dead_letter', '');
select pg_catalog.pg_extension_config_dump('rea.message_topic', '');
select pg_catalog.pg_extension_config_dump('rea.work_reroute', '');

-- The launcher hears of this database when the transaction commits, and starts its workers.
create function rea.extension_created() returns void language c as 'MODULE_PATHNAME', 'rea_extension_created';
select rea.extension_created();
drop function rea.extension_created();
