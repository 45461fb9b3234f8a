-- What an instance and those below it are doing, for the views and functions that tell of it. Viewers may call what the
-- views call: blocks, block, instance_words, instance_steps; the others are granted to nobody. They are functions, so that
-- what asks for none of it pays for none. All reach few rows by index, whatever the planner expects of a recursion: hash
-- and merge joins and stored inner rows are off; so is jit, which would take far longer than they do; plans are made once
-- a session. For the same reason they count where EXISTS could be turned into a scan of the whole table.
-- Definitions are taken apart as src/flow/parse reads them: actions stand in "actions", in the "branches" of parallel, in
-- "config" of foreach ("actions") and of switch ("cases", "default").

create function rea.blocks(definition jsonb)
returns table (parent_action text, branch text, actions jsonb)
language plpgsql immutable parallel safe rows 3 set search_path = pg_catalog, pg_temp set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
    set plan_cache_mode = force_generic_plan
as $blocks$
begin
    return query
    with recursive block (parent_action, branch, actions) as (
        select null::text, null::text, blocks.definition -> 'actions'
        union all
        select a.action ->> 'name', n.branch, n.actions
        from block b
        cross join lateral jsonb_array_elements(b.actions) a (action)
        cross join lateral (
            select m.key, m.value from jsonb_each(a.action -> 'branches') m where a.action ->> 'type' = 'parallel'
            union all
            select null, a.action -> 'config' -> 'actions' where a.action ->> 'type' = 'foreach'
            union all
            select (c.position - 1)::text, c.chosen -> 'actions'
            from jsonb_array_elements(a.action -> 'config' -> 'cases') with ordinality c (chosen, position)
            where a.action ->> 'type' = 'switch'
            union all
            select 'default', a.action -> 'config' -> 'default'
            where a.action ->> 'type' = 'switch' and a.action -> 'config' ? 'default') n (branch, actions)
    )
    select k.parent_action, k.branch, k.actions from block k;
end
$blocks$;
comment on function rea.blocks(jsonb) is
    'The lists of actions of a definition: parent_action is null for the workflow''s own, branch is null for the one list '
    'that all items of a foreach run';

create function rea.block(definition jsonb, parent_action text, branch text)
returns jsonb language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
    set plan_cache_mode = force_generic_plan
as $block$
begin
    if block.branch is null then
        return block.definition -> 'actions';
    end if;
    return (select b.actions from rea.blocks(block.definition) b
            where b.parent_action = block.parent_action and (b.branch is null or b.branch = block.branch) limit 1);
end
$block$;
comment on function rea.block(jsonb, text, text) is
    'The list of actions that an instance runs: the workflow''s own when branch is null';

create function rea.undo_steps(id uuid)
returns table (place bigint, action_name text, undo jsonb)
language plpgsql stable parallel safe rows 5 set search_path = pg_catalog, pg_temp set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
    set plan_cache_mode = force_generic_plan
as $undo$
begin
    return query
    with recursive tree as (
        select r.instance_id, null::text as parent_action, null::text as branch
        from rea.work_instance r where r.instance_id = undo_steps.id
        union all
        select c.instance_id, c.parent_action, c.branch
        from tree t
        join rea.work_instance c on c.parent_instance_id = t.instance_id and c.branch is not null
    ), done as (
        select t.instance_id, t.parent_action, t.branch, a.action_name, bool_or(a.status = 'SUCCESS') as succeeded,
               max(a.end_time) as end_time, max(a.log_id) as log_id
        from tree t
        join rea.work_action_log a on a.instance_id = t.instance_id
        where a.action_name not like '%~undo'
          and (a.status in ('SUCCESS', 'LOST')
               or a.status = 'FAILED' and a.request_summary is not null
                  and a.error_code not in ('dns', 'connect', 'tls', 'local', 'invalid_request')
                  and a.error_code not like 'http\_%')
        group by t.instance_id, t.parent_action, t.branch, a.action_name
    )
    select row_number() over (order by d.end_time desc, d.log_id desc, d.instance_id desc),
           d.action_name || '~undo', a.action -> 'compensate'
    from done d
    join rea.work_instance r on r.instance_id = undo_steps.id
    join rea.workflow_version v on v.workflow_name = r.workflow_name and v.version = r.workflow_version
    cross join lateral jsonb_array_elements(rea.block(v.definition, d.parent_action, d.branch)) a (action)
    where a.action ->> 'name' = d.action_name and jsonb_typeof(a.action -> 'compensate') = 'object'
      and (d.succeeded or a.action ->> 'type' in ('http', 'lua'));
end
$undo$;
comment on function rea.undo_steps(uuid) is
    'What an instance undoes when it fails, in this order from 1, as done_actions.sql lists it; granted to nobody';

create function rea.live_parts(id uuid)
returns table (part_id uuid, path text)
language plpgsql stable parallel safe rows 5 set search_path = pg_catalog, pg_temp set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
    set plan_cache_mode = force_generic_plan
as $live$
begin
    return query
    with recursive part (part_id, path) as (
        select c.instance_id, coalesce(c.branch, c.workflow_name)
        from rea.work_instance c
        where c.parent_instance_id = live_parts.id and c.end_time is null and not c.detached
        union all
        select c.instance_id, p.path || ' › ' || c.parent_action || '/' || coalesce(c.branch, c.workflow_name)
        from part p
        join rea.work_instance c on c.parent_instance_id = p.part_id and c.end_time is null and not c.detached
    )
    select t.part_id, t.path from part t
    where not exists (
        select from rea.work_instance c
        where c.parent_instance_id = t.part_id and c.end_time is null and not c.detached);
end
$live$;
comment on function rea.live_parts(uuid) is
    'Where an instance really stands: those below it that live and wait for no children of their own, and the branches or '
    'child workflows that lead to them; granted to nobody';

create function rea.instance_steps(id uuid)
returns jsonb language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
    set plan_cache_mode = force_generic_plan
as $steps$
begin
    return coalesce((
        with recursive root as materialized (
            select r.instance_id, r.branch, r.parent_action, v.definition
            from rea.work_instance r
            join rea.workflow_version v on v.workflow_name = r.workflow_name and v.version = r.workflow_version
            where r.instance_id = instance_steps.id
        ), block as materialized (
            select b.parent_action, b.branch, b.actions from root r cross join lateral rea.blocks(r.definition) b
        ), node (instance_id, actions, suffix, skipped) as (
            select r.instance_id, rea.block(r.definition, r.parent_action, r.branch), '', false from root r
            union all
            select c.instance_id, b.actions, o.suffix || case when b.branch is null then format('[%s]', c.item_index) else '' end,
                   o.skipped or c.instance_id is null and coalesce(a.place <= p.current_action_index, false)
            from node o
            left join rea.work_instance p on p.instance_id = o.instance_id
            cross join lateral jsonb_array_elements(o.actions) with ordinality a (action, place)
            join block b on b.parent_action = a.action ->> 'name'
            left join rea.work_instance c
                on c.parent_instance_id = o.instance_id and c.parent_action = b.parent_action and c.branch is not null
               and (b.branch is null or c.branch = b.branch)
            where c.instance_id is not null or b.branch is not null
        )
        select jsonb_object_agg(a.action ->> 'name' || o.suffix, case
                   when i.instance_id is null then case when o.skipped then 'SKIPPED' else 'PENDING' end
                   when a.place <= i.current_action_index then
                       coalesce(i.context -> (a.action ->> 'name') ->> 'status', 'SUCCESS')
                   when a.place > i.current_action_index + 1 then 'PENDING'
                   when not case when coalesce(i.compensation, 'none') = 'none' then i.first_try_time is not null
                                 else 'CANCELLED' in (i.end_status, i.status) or (
                                     select count(*) from rea.work_action_log l
                                     where l.instance_id = i.instance_id and l.action_name = a.action ->> 'name') > 0 end then
                       'PENDING'
                   when i.status in ('FAILED', 'DEAD') or i.end_status in ('FAILED', 'DEAD')
                        or i.status = 'PAUSED' and i.error_code is not null then 'FAILED'
                   when i.end_status = 'CANCELLED' then 'CANCELLED'
                   when i.status = 'PENDING' and i.retry_count > 0 then 'RETRY_WAIT'
                   else i.status end)
        from node o
        left join rea.work_instance i on i.instance_id = o.instance_id
        cross join lateral jsonb_array_elements(o.actions) with ordinality a (action, place)), '{}')
    || coalesce((
        select jsonb_object_agg(s.action_name, s.status)
        from (select u.action_name, case
                         when r.end_time is null and bool_or(u.place = r.undo_no + 1) then
                             case when r.next_retry_time is not null then 'RETRY_WAIT' else 'RUNNING' end
                         when bool_or(u.place > r.undo_no) then 'PENDING'
                         when count(*) <= (select count(*) from rea.work_action_log l
                                           where l.instance_id = r.instance_id and l.action_name = u.action_name
                                             and l.status = 'SUCCESS') then 'SUCCESS'
                         else 'FAILED' end as status
              from rea.work_instance r
              cross join lateral rea.undo_steps(r.instance_id) u
              where r.instance_id = instance_steps.id and r.compensation in ('running', 'done', 'failed')
              group by r.instance_id, u.action_name) s), '{}');
end
$steps$;
comment on function rea.instance_steps(uuid) is
    'How the actions of an instance stand, those of its branches included, and what it undoes: the column steps of '
    'rea.instances';

-- Runs as the owner: it is called for a row that the caller sees.
create function rea.instance_words(id uuid)
returns text language plpgsql stable parallel restricted security definer set search_path = pg_catalog, pg_temp set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
    set plan_cache_mode = force_generic_plan
as $words$
declare
    i record;
    action jsonb;
    obstacle text;
begin
    select w.instance_id, w.status, w.error_code, w.parent_action, w.branch, w.current_action_index, w.retry_count,
           w.next_retry_time, w.update_time, w.undo_no, v.definition, q.owner_generation, q.attempt_no, q.due_time, q.lane,
           s.in_flight, s.max_in_flight into i
    from rea.work_instance w
    left join rea.workflow_version v on v.workflow_name = w.workflow_name and v.version = w.workflow_version
    left join rea.work_queue q on q.instance_id = w.instance_id
    left join rea.lane_stat s on s.lane = q.lane
    where w.instance_id = instance_words.id and w.end_time is null;
    if not found then
        return null;
    end if;
    obstacle := rea.instance_obstacle(i.instance_id, i.status, i.error_code, i.owner_generation);
    if obstacle is not null then
        return obstacle;
    end if;
    action := rea.block(i.definition, i.parent_action, i.branch) -> i.current_action_index;
    if i.status = 'WAITING' then
        return rea.waiting_words(i.instance_id, action, i.due_time);
    elsif i.status = 'COMPENSATING' then
        select u.undo || jsonb_build_object('name', u.action_name) into action
        from rea.undo_steps(i.instance_id) u where u.place = i.undo_no + 1;
    end if;
    return case when i.status = 'COMPENSATING' then
               (select format('compensating: undo %s of %s, ', least(i.undo_no + 1, count(*)), count(*))
                from rea.undo_steps(i.instance_id)) else '' end
        || case
               when i.owner_generation is not null then
                   format('running %s for %s s of at most %s s%s', action ->> 'name',
                          greatest(round(extract(epoch from statement_timestamp() - i.update_time), 1), 0),
                          trim_scale(coalesce((action -> 'config' ->> 'timeoutMs')::numeric / 1000,
                                              extract(epoch from current_setting('rea.action_timeout', true)::interval))),
                          case when i.attempt_no > 1 then format(' (attempt %s)', i.attempt_no) end)
               when i.next_retry_time > statement_timestamp() then
                   format('retry %s of %s at %s%s', i.retry_count, action ->> 'name',
                          to_char(i.next_retry_time, 'YYYY-MM-DD HH24:MI:SS.MSOF'),
                          ' after ' || (select l.error_code from rea.work_action_log l
                                        where l.instance_id = i.instance_id order by l.log_id desc limit 1))
               when (i.lane = 'sql' or i.lane like 'sql:%')
                    and not exists (select from rea.live_worker w where w.kind = 'sql') then
                   'waiting for an SQL worker: none is running'
               when i.in_flight >= i.max_in_flight then
                   format('waiting for a free place on lane %s (%s of %s in flight)', i.lane, i.in_flight, i.max_in_flight)
               else format('waiting for its turn on lane %s', i.lane) end;
end
$words$;
comment on function rea.instance_words(uuid) is
    'Why an instance does not move, in words: the column waiting_for of rea.instances; null when it has ended';

create function rea.instance_obstacle(id uuid, status text, error_code text, owner_generation bigint)
returns text language plpgsql stable parallel restricted set search_path = pg_catalog, pg_temp set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
    set plan_cache_mode = force_generic_plan
as $obstacle$
begin
    return coalesce(
        (select format('%s requested: %s%s', r.request, r.cause,
                       case when instance_obstacle.owner_generation is not null then '; attempt in flight' end)
         from rea.work_request r where r.instance_id = instance_obstacle.id order by r.request, r.request_id limit 1),
        case
            when instance_obstacle.status = 'PAUSED' then
                format('paused %s: resume_instance lets it go on',
                       coalesce('after ' || instance_obstacle.error_code, 'by hand'))
            when current_setting('rea.enabled', true) = 'off' then 'rea.enabled is off'
            when not exists (select from rea.live_worker w where w.kind = 'main') then
                'waiting for a worker: none is running'
            when instance_obstacle.owner_generation not in (select w.generation from rea.live_worker w) then
                'waiting to be taken back from a worker that vanished' end);
end
$obstacle$;
comment on function rea.instance_obstacle(uuid, text, text, bigint) is
    'What has to be out of the way before anything else counts; null when nothing is. Granted to nobody';

create function rea.waiting_words(id uuid, action jsonb, due_time timestamptz)
returns text language plpgsql stable parallel restricted set search_path = pg_catalog, pg_temp set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
    set plan_cache_mode = force_generic_plan
as $waiting$
declare
    step_kind constant text := waiting_words.action ->> 'type';
    step_name constant text := waiting_words.action ->> 'name';
    ends boolean;
    words text;
begin
    select w.end_status is not null into ends from rea.work_instance w where w.instance_id = waiting_words.id;
    if not ends then
        select format('waiting for a place: %s ahead with key %s',
                      (select count(*) from rea.work_place o
                       where o.workflow_name = p.workflow_name and o.place_key = p.place_key
                         and (o.taken or o.turn < p.turn)), p.place_key) into words
        from rea.work_place p where p.instance_id = waiting_words.id and not p.taken;
        if found then
            return words;
        end if;
        if step_kind not in ('parallel', 'foreach', 'switch', 'workflow') then
            return coalesce((
                select 'waiting for event ' || string_agg(
                           w.event_type || case when w.correlation_id is not null then
                                                    ' with correlation id ' || w.correlation_id
                                                when w.biz_key <> i.biz_key then ' for ' || w.biz_key
                                                else '' end,
                           case when waiting_words.action -> 'config' ? 'all' then ' and ' else ' or ' end order by w.wait_no)
                from rea.work_wait w
                join rea.work_instance i on i.instance_id = w.instance_id
                where w.instance_id = waiting_words.id and w.action_name = step_name
                  and not exists (select from rea.work_wait_event m
                                  where m.instance_id = w.instance_id and m.action_name = w.action_name
                                    and m.wait_no = w.wait_no)), 'waiting')
                || case when waiting_words.due_time > statement_timestamp() and isfinite(waiting_words.due_time)
                        then to_char(waiting_words.due_time, '" until "YYYY-MM-DD HH24:MI:SS.MSOF') else '' end;
        end if;
    end if;
    select case
               when ends and count(*) filter (where k.end_time is null) = 0 then 'waiting for its end'
               when ends then format('waiting for %s children to be cancelled', count(*) filter (where k.end_time is null))
               when step_kind = 'workflow' then format('waiting for workflow %s', waiting_words.action -> 'config' ->> 'workflowName')
               when step_kind = 'switch' then 'waiting for the chosen case'
               when step_kind = 'foreach' then
                   format('waiting for %s of %s items begun', count(*) filter (where k.end_time is null), count(*))
               else format('waiting for %s of %s branches', count(*) filter (where k.end_time is null),
                           (select count(*) from jsonb_object_keys(waiting_words.action -> 'branches'))) end into words
    from rea.work_instance k
    where k.parent_instance_id = waiting_words.id and not k.detached and (ends or k.parent_action = step_name);
    return words || coalesce((
        select format(' (%s%s)', string_agg(p.path || ': ' || rea.instance_words(p.part_id), '; ' order by p.part_id)
                                     filter (where p.place <= 3),
                      case when count(*) > 3 then format('; and %s more', count(*) - 3) end)
        from (select l.path, l.part_id, row_number() over (order by l.part_id) as place
              from rea.live_parts(waiting_words.id) l) p
        having count(*) > 0), '');
end
$waiting$;
comment on function rea.waiting_words(uuid, jsonb, timestamptz) is
    'What a waiting instance waits for, in words: events, a time, a place, or its children and up to three of those below '
    'that really stand; granted to nobody';

create function rea.outlook(id uuid, out moves boolean, out look_again timestamptz, out error jsonb)
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp set jit = off
    set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
    set plan_cache_mode = force_generic_plan
as $outlook$
begin
    select bool_or(i.status <> 'PAUSED'),
           min(case
                   when i.status = 'PAUSED' then null
                   when i.status = 'WAITING' and q.due_time > statement_timestamp() then
                       case when (select count(*) from rea.work_wait w
                                  where w.instance_id = i.instance_id and w.action_name <> '') > 0
                              or (select count(*) from rea.work_place o
                                  where o.instance_id = i.instance_id and not o.taken) > 0
                            then least(q.due_time, statement_timestamp() + interval '30 s') else q.due_time end
                   else greatest(i.next_retry_time, statement_timestamp()) end),
           (array_agg(jsonb_build_object(
                'code', i.error_code, 'message', i.error,
                'step', rea.block(v.definition, i.parent_action, i.branch) -> i.current_action_index ->> 'name')
                order by i.paused_time) filter (where i.status = 'PAUSED' and i.error_code is not null))[1]
    into outlook.moves, outlook.look_again, outlook.error
    from (select p.part_id from rea.live_parts(outlook.id) p
          union all
          select outlook.id where not exists (select from rea.live_parts(outlook.id))) s (part_id)
    join rea.work_instance i on i.instance_id = s.part_id
    left join rea.workflow_version v on v.workflow_name = i.workflow_name and v.version = i.workflow_version
    left join rea.work_queue q on q.instance_id = i.instance_id
    where i.end_time is null;
end
$outlook$;
comment on function rea.outlook(uuid) is
    'Whether an instance that lives, or what it waits for, moves by itself; when to ask again: the next known time, within '
    '30 s where an event or a place may come at any moment; and the error of what is paused. Granted to nobody';
