-- Inserts jobs that run at once and carry nothing but a body; ids ascend in array order.
with moment as materialized (
  select coalesce($3::double precision, extract(epoch from clock_timestamp())) as now
), added as (
  insert into dure_live (id, stream, pos, enqueued_at, state, ready, body)
  select n.id, n.stream, n.id, m.now, 0, true, n.body
  from (select nextval('dure_seq') as id, a.stream, a.body
        from unnest($1::bigint[], $2::text[]) as a (stream, body)) n
  cross join moment m
  returning id
), hint as (
  select pg_notify($4, $5) where $5 is not null
)
select array_agg(id order by id) as ids, (select count(*) from hint) as hints from added
