-- A version of a workflow's definition, and the role that defined it.
-- $1 workflow name, $2 version
select v.definition::text, v.defined_by::text from rea.workflow_version v where v.workflow_name = $1 and v.version = $2
