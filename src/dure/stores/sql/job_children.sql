-- Jobs that name this one as their parent; walks both tables by id, from the parent upwards.
select j.*, coalesce(k.name, '') as kind, coalesce(l.name, '') as lane from (
  select * from (
    select id, state, stream, pos, attempt, fence, worker, enqueued_at, claimed_at,
      cast(null as double precision) as finished_at, due, batch, parent, epoch, tokens, session,
      subject, key, reason, error, cast(null as text) as result, body
    from dure_live where id > :id and parent = :id
    order by id limit :most) a
  union all
  select * from (
    select id, state, stream, cast(null as bigint) as pos, attempt, fence, worker, enqueued_at,
      claimed_at, finished_at, cast(null as double precision) as due, batch, parent, epoch, tokens,
      session, subject, key, reason, error, result, body
    from dure_history where id > :id and parent = :id
    order by id limit :most) b
  order by id limit :most
) j
left join dure_kind k on k.id = (j.stream >> 2) & 16383
left join dure_lane l on l.id = j.stream >> 16
order by j.id
