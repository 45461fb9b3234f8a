-- What rea knows about the orders afterwards, as any viewer may ask for it.

\set QUIET on
\pset footer off
\pset border 1
\pset linestyle unicode
\pset null ''

\echo
\echo 3. The orders that exist, and the events beside them; SO-1003 never happened:
select o.order_no, e.event_type, e.event_id
from orders o left join rea.events e on e.biz_key = o.order_no
order by o.order_no;

\echo 4. One instance of the workflow per event, with its result:
select biz_key, workflow_name, workflow_version as version, status, result,
       round(extract(epoch from end_time - create_time) * 1000) as took_ms
from rea.instances order by biz_key;

\echo 5. The whole story of SO-1001: grantPoints failed twice and was tried again; deductStock was not repeated.
select to_char(at, 'HH24:MI:SS.MS') as at, kind, subject, status, cost_ms, detail
from rea.timeline('SO-1001');

\echo 6. Dead letters (nothing was given up):
select count(*) as dead_letters from rea.dead_letters;
