-- Takes a route out of force. No row processed: none was active.
-- $1 route name
update rea.route r set active = false where r.route_name = $1 and r.active
