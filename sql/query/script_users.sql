-- A workflow in force that names the script without a version.
-- $1 script name
select w.workflow_name
from rea.workflow w
join rea.workflow_version v on v.workflow_name = w.workflow_name and v.version = w.current_version
where w.enabled
  and pg_catalog.jsonb_path_exists(
          v.definition, '$.**.config.script ? (@ == $name)', pg_catalog.jsonb_build_object('name', $1::text), true)
order by w.workflow_name limit 1
