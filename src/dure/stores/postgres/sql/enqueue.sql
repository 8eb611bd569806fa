-- Inserts jobs in array order; ids ascend with it, or are given. $13 is the store's now when a test sets it.
with moment as materialized (
  select coalesce($13::double precision, extract(epoch from clock_timestamp())) as now
), fresh as materialized (
  select coalesce(a.id, nextval('dure_seq')) as id, a.stream, a.body,
         case when coalesce(a.due, m.now + a.delay) > m.now
              then coalesce(a.due, m.now + a.delay) end as due,
         a.batch, a.parent, a.session, a.subject, a.epoch, a.tokens, a.key, m.now,
         a.session is not null and exists (
           select 1 from dure_pause p where p.scope = 'session' and p.name = a.session) as held
  from unnest($1::bigint[], $2::bigint[], $3::text[], $4::double precision[],
              $5::double precision[], $6::bigint[], $7::bigint[], $8::text[], $9::text[],
              $10::bigint[], $11::integer[], $12::text[])
       as a (id, stream, body, due, delay, batch, parent, session, subject, epoch, tokens, key)
  cross join moment m
), added as (
  insert into dure_live (id, stream, pos, enqueued_at, due, batch, parent, epoch, tokens, state,
                         ready, session, subject, key, reason, body)
  select id, stream, id, now, case when held then null else due end, batch, parent,
         coalesce(epoch, 0), coalesce(tokens, 0),
         case when held then 3 when due is not null then 2 else 0 end,
         not held and due is null, session, subject, key,
         case when held then 'paused' end, body
  from fresh
  returning id
), hint as (
  select pg_notify($14, $15) where $15 is not null
)
select array_agg(id order by id) as ids, (select count(*) from hint) as hints from added
