-- Puts events into the inbox, in this order.
-- $1 event uids
insert into rea.work_inbox (event_uid)
select n.event_uid from unnest($1::uuid[]) with ordinality n (event_uid, position) order by n.position
