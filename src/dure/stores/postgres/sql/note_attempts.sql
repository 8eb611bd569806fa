-- Keeps what became of attempts that did not end in success; locks their rows, so that of two
-- who end one attempt only the first is noted.
insert into dure_attempt (job, fence, attempt, worker, started_at, ended_at, event, error)
select a.job, a.fence, l.attempt, l.worker, l.claimed_at,
       coalesce($5::double precision, extract(epoch from clock_timestamp())), a.event, a.error
from unnest($1::bigint[], $2::integer[], $3::text[], $4::text[]) as a (job, fence, event, error)
cross join lateral (
  select o.attempt, o.worker, o.claimed_at from dure_live o
  where o.id = a.job and o.fence = a.fence and o.state = 1 limit 1 for update) l
