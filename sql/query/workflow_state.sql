-- The version that new instances of a workflow start with, and whether it may start.
-- $1 workflow name
select w.current_version, w.enabled from rea.workflow w where w.workflow_name = $1
