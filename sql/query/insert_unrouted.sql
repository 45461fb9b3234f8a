-- Records events that no route matched.
-- $1 event uids, $2 now
insert into rea.work_unrouted (event_uid, create_time, reason)
select u.event_uid, $2, 'no_route' from unnest($1::uuid[]) u (event_uid)
on conflict (event_uid) do nothing
