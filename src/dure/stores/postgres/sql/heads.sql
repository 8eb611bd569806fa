-- Every stream with waiting work at or after $1: one index probe a stream on dure_live_ready.
with recursive s (stream) as (
  (select l.stream from dure_live l where l.ready order by l.stream limit 1)
  union all
  select (select l.stream from dure_live l where l.ready and l.stream > s.stream
          order by l.stream limit 1)
  from s where s.stream is not null
)
select s.stream, h.pos from s cross join lateral (
  select l.pos from dure_live l
  where l.ready and l.stream = s.stream and l.state = 0 and l.pos >= $1
  order by l.pos limit 1) h
where s.stream is not null
