-- diff_workflow: what differs between two versions, with actions matched by their names.
select regress.define('{"workflowName": "diffFlow", "triggerEvent": "diff.made", "timeoutSeconds": 60, "actions": [
    {"name": "first", "type": "http", "config": {"url": "http://receiver/one", "timeoutMs": 1000, "body": {"a/b": 1, "list": [1, 2]}}},
    {"name": "second", "type": "http", "config": {"url": "http://receiver/two", "timeoutMs": 1000}},
    {"name": "third", "type": "http", "config": {"url": "http://receiver/three", "timeoutMs": 1000}}]}') as version;
select regress.define('{"workflowName": "diffFlow", "triggerEvent": "diff.made", "match": {"vip": true}, "actions": [
    {"name": "new", "type": "http", "config": {"url": "http://receiver/new", "timeoutMs": 1000}},
    {"name": "third", "type": "http", "config": {"url": "http://receiver/three", "timeoutMs": 1000}},
    {"name": "first", "type": "http", "config": {"url": "http://receiver/one", "timeoutMs": 2000, "body": {"a/b": 2, "list": [1]}}}]}') as version;
create view regress.diff_row as
select 1 as v1, 2 as v2, d.path, d.change, d.action_name, regress.hide_receiver(d.old::text) as old, regress.hide_receiver(d.new::text) as new
from rea.diff_workflow('diffFlow', 1, 2) with ordinality d order by d.ordinality;
select path, change, action_name, old, new from regress.diff_row;
-- The second version left out is the one in force; the same version has no difference, and back is the other way round.
select count(*) as same_rows from (select path, change from rea.diff_workflow('diffFlow', 1) intersect select path, change from regress.diff_row) s;
select count(*) as differences from rea.diff_workflow('diffFlow', 2, 2);
select d.change, count(*) from rea.diff_workflow('diffFlow', 2, 1) d group by 1 order by 1;
call regress.refused($$ select * from rea.diff_workflow('diffFlow', 1, 3) $$);
call regress.refused($$ select * from rea.diff_workflow('nobody', 1) $$);
call regress.refused($$ select * from rea.diff_workflow(null, 1) $$);
