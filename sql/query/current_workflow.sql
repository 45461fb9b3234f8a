-- The version in force of a workflow, and whether it is the given definition.
-- $1 workflow name, $2 definition
select w.current_version, w.enabled, v.definition = $2
from rea.workflow w
join rea.workflow_version v on v.workflow_name = w.workflow_name and v.version = w.current_version
where w.workflow_name = $1
