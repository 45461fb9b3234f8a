-- Puts events into the inbox again.
-- $1 event uids, $2 route groups, pairwise
-- What nothing had matched is routed like a new event; of the others only the groups given start something.
with removed as (
    delete from rea.work_unrouted u where u.event_uid = any ($1::uuid[]) returning u.event_uid
)
insert into rea.work_inbox (event_uid, only_groups)
select p.event_uid, case when r.event_uid is null then pg_catalog.array_agg(p.route_group) end
from unnest($1::uuid[], $2::text[]) p (event_uid, route_group)
left join removed r on r.event_uid = p.event_uid
group by p.event_uid, r.event_uid
order by p.event_uid
