-- For which of these changes what they ask for holds already: an earlier try was applied, its
-- answer lost. Rows are found one by one, whatever the statistics say.
select array_agg(a.id) as ids
from unnest($1::bigint[], $2::integer[], $3::smallint[], $4::smallint[], $5::double precision[],
            $6::text[]) as a (id, fence, state, attempt, due, reason)
cross join lateral (
  select 1 from dure_history h
  where h.id = a.id and h.fence = a.fence and h.state = a.state
  union all
  select 1 from dure_live l
  where l.id = a.id and l.fence = a.fence and l.state = a.state and l.attempt = a.attempt
    and l.due is not distinct from a.due and l.reason is not distinct from a.reason
  limit 1) s
