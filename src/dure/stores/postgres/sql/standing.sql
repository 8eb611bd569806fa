-- Which of these jobs still stand under this state and fence.
select array_agg(a.id) as ids
from unnest($1::bigint[], $2::integer[], $3::smallint[]) as a (id, fence, source)
cross join lateral (
  select 1 from dure_live o
  where o.id = a.id and o.fence = a.fence and o.state = a.source limit 1) s
