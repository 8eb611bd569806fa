-- Moves jobs between unfinished states if state and fence still hold; ready ones go to the back.
with asked as materialized (
  select * from unnest($1::bigint[], $2::integer[], $3::smallint[], $4::smallint[], $5::smallint[],
                       $6::bigint[], $7::double precision[], $8::text[], $9::text[])
    as a (id, fence, source, state, attempt, stream, due, reason, error)
), found as materialized (
  select l.tid, a.* from asked a cross join lateral (
    select o.ctid as tid from dure_live o
    where o.id = a.id and o.fence = a.fence and o.state = a.source limit 1 for update) l
), moved as (
  update dure_live o set state = f.state, attempt = f.attempt, stream = f.stream, due = f.due,
    ready = (f.state = 0), pos = case when f.state = 0 then nextval('dure_seq') else o.pos end,
    reason = f.reason, error = coalesce(f.error, o.error), worker = null, claimed_at = null
  from found f where o.ctid = f.tid
  returning o.id
)
select array_agg(id) as ids from moved
