-- Lets a workflow start instances, or not. No row processed: there is no such workflow.
-- $1 workflow name, $2 whether
update rea.workflow w set enabled = $2, update_time = pg_catalog.clock_timestamp() where w.workflow_name = $1
