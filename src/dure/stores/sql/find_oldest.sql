-- Jobs that a filter means, oldest first; walks both tables by id, or an index the filter names.
select j.*, coalesce(k.name, '') as kind, coalesce(l.name, '') as lane from (
  select * from (
    select * from (
      select id, state, stream, pos, attempt, fence, worker, enqueued_at, claimed_at,
        cast(null as double precision) as finished_at, due, batch, parent, epoch, tokens, session,
        subject, key, reason, error, cast(null as text) as result, body
      from dure_live) x
    where cast(:live as boolean) and id > :low and id < :high and /*where*/
    order by id limit :most) a
  union all
  select * from (
    select * from (
      select id, state, stream, cast(null as bigint) as pos, attempt, fence, worker, enqueued_at,
        claimed_at, finished_at, cast(null as double precision) as due, batch, parent, epoch, tokens,
        session, subject, key, reason, error, result, body
      from dure_history) x
    where cast(:history as boolean) and id > :low and id < :high and /*where*/
    order by id limit :most) b
  order by id limit :most
) j
left join dure_kind k on k.id = (j.stream >> 2) & 16383
left join dure_lane l on l.id = j.stream >> 16
order by j.id
