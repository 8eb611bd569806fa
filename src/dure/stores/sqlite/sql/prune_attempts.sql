-- Deletes the oldest attempts; rows are added in order of time, so the walk by rowid is exact.
delete from dure_attempt where rowid in (
  select place from (select rowid as place, ended_at from dure_attempt order by rowid limit :most) a
  where a.ended_at < :before)
returning job
