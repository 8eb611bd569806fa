-- Every stream with waiting work at or after ?1: one index probe a stream on dure_live_ready.
with recursive s (stream) as (
  select min(l.stream) from dure_live l where l.ready
  union all
  select (select min(l.stream) from dure_live l where l.ready and l.stream > s.stream)
  from s where s.stream is not null
)
select s.stream, (
  select l.pos from dure_live l
  where l.ready and l.stream = s.stream and l.state = 0 and l.pos >= ?1
  order by l.pos limit 1) as pos
from s where s.stream is not null
