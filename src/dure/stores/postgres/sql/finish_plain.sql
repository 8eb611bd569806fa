-- finish.sql for running jobs that succeeded without a result: two short arrays instead of seven.
with asked as materialized (
  select * from unnest($1::bigint[], $2::integer[]) as a (id, fence)
), found as materialized (
  select l.* from asked a cross join lateral (
    select o.ctid as tid, o.id, o.stream, o.enqueued_at, o.claimed_at, o.batch, o.parent, o.epoch,
           o.fence, o.worker, o.tokens, o.attempt, o.session, o.subject, o.key, o.reason,
           o.error, o.body
    from dure_live o
    where o.id = a.id and o.fence = a.fence and o.state = 1 limit 1 for update) l
), gone as (
  delete from dure_live where ctid = any (array(select tid from found)) returning id
), kept as (
  insert into dure_history (id, stream, enqueued_at, claimed_at, finished_at, batch, parent, epoch,
    fence, worker, tokens, state, attempt, session, subject, key, reason, error, body)
  select id, stream, enqueued_at, claimed_at,
    coalesce($3::double precision, extract(epoch from clock_timestamp())), batch, parent, epoch,
    fence, worker, tokens, 4, attempt, session, subject, key, reason, error, body
  from found where (id in (select id from gone)) is true
)
select array_agg(id) as ids from gone
