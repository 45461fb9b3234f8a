-- Claims a topic for a kind of message; does nothing when it is taken, after the end of whoever is taking it.
-- $1 transport, $2 topic, $3 kind
-- Lock: the primary key.
insert into rea.message_topic (transport, topic, kind) values ($1, $2, $3) on conflict (transport, topic) do nothing
