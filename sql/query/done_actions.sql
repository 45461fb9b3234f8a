-- What an instance and its branches did that may have to be undone, the last first.
-- $1 instance
-- Returns owner, its block (parent action and branch), action, whether an attempt succeeded, item index and item, outputs.
-- An action that may have been done is listed too: an attempt was lost, or something was sent and the answer did not
-- refuse it (none came, or the action failed afterwards, on its output).
with recursive tree as (
    select i.instance_id, null::text as parent_action, null::text as branch, i.item_index, i.item, i.context
    from rea.work_instance i where i.instance_id = $1
    union all
    select c.instance_id, c.parent_action, c.branch, coalesce(c.item_index, t.item_index), coalesce(c.item, t.item), c.context
    from tree t
    join rea.work_instance c on c.parent_instance_id = t.instance_id and c.branch is not null
)
select t.instance_id, t.parent_action, t.branch, a.action_name, pg_catalog.bool_or(a.status = 'SUCCESS'),
       t.item_index, t.item::text, t.context::text
from tree t
join rea.work_action_log a on a.instance_id = t.instance_id
where a.action_name not like '%~undo'
  and (a.status in ('SUCCESS', 'LOST')
       or a.status = 'FAILED' and a.request_summary is not null
          and a.error_code not in ('dns', 'connect', 'tls', 'local', 'invalid_request')
          and a.error_code not like 'http\_%')
group by t.instance_id, t.parent_action, t.branch, a.action_name, t.item_index, t.item, t.context
order by max(a.end_time) desc, max(a.log_id) desc, t.instance_id desc
