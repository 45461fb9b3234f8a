-- Records events that no route matched; those that completed waits, before or in this transaction, as awaited.
-- $1 event uids, $2 now
insert into rea.work_unrouted (event_uid, create_time, reason)
select u.event_uid, $2,
       case when exists (select from rea.work_wait_event m where m.event_uid = u.event_uid) then 'awaited' else 'no_route' end
from unnest($1::uuid[]) u (event_uid)
on conflict (event_uid) do nothing
