-- Whether a workflow of that name exists.
-- $1 workflow name
select true from rea.workflow w where w.workflow_name = $1
