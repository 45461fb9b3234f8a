-- Lets one transaction at a time give and give back places of workflows with concurrency, up to its end.
-- One lock for all keys: a turn that gives some back and takes others could deadlock with locks of their own. Without it
-- one that looks for a place could miss one that is just being given back by a transaction that does not see it waiting.
select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('rea.work_place'))
