-- The kind of message that a topic carries; no row while it is unclaimed.
-- $1 transport, $2 topic
select t.kind from rea.message_topic t where t.transport = $1 and t.topic = $2
