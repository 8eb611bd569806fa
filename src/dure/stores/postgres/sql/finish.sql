-- Moves jobs to history if state and fence still hold; rows are found one by one on the primary
-- key, so that statistics taken while the table was empty cannot spoil the plan. A row that was
-- changed while this waited for its lock is found, but its new version is invisible to the delete:
-- it is not answered, and the caller tries again. "is true" keeps the planner from joining.
with asked as materialized (
  select * from unnest($1::bigint[], $2::integer[], $3::smallint[], $4::smallint[], $5::text[],
                       $6::text[], $7::text[])
    as a (id, fence, source, state, reason, error, result)
), found as materialized (
  select l.*, a.state as final, a.reason as ended_reason, a.error as ended_error, a.result
  from asked a cross join lateral (
    select o.ctid as tid, o.id, o.stream, o.enqueued_at, o.claimed_at, o.batch, o.parent, o.epoch,
           o.fence, o.worker, o.tokens, o.attempt, o.session, o.subject, o.key, o.reason,
           o.error, o.body
    from dure_live o
    where o.id = a.id and o.fence = a.fence and o.state = a.source limit 1 for update) l
), gone as (
  delete from dure_live where ctid = any (array(select tid from found)) returning id
), kept as (
  insert into dure_history (id, stream, enqueued_at, claimed_at, finished_at, batch, parent, epoch,
    fence, worker, tokens, state, attempt, session, subject, key, reason, error, result, body)
  select id, stream, enqueued_at, claimed_at,
    coalesce($8::double precision, extract(epoch from clock_timestamp())), batch, parent, epoch,
    fence, worker, tokens, final, attempt, session, subject, key,
    coalesce(ended_reason, reason), coalesce(ended_error, error), result, body
  from found where (id in (select id from gone)) is true
)
select array_agg(id) as ids from gone
