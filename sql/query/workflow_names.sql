-- Names of workflows, for hints; at most 1,000.
select w.workflow_name
from rea.workflow w
order by w.workflow_name
limit 1000
