-- Which kind of message each topic carries.

create table rea.message_topic (
    transport text not null,
    topic     text not null,
    kind      text not null check (kind in ('command', 'event')),
    primary key (transport, topic)
);
comment on table rea.message_topic is
    'Commands and events never share a topic: the first message sent to one claims it for its kind';
comment on column rea.message_topic.transport is 'notify, logical or pgmq';
comment on column rea.message_topic.topic is 'Channel, prefix or queue';
comment on column rea.message_topic.kind is 'command or event';
