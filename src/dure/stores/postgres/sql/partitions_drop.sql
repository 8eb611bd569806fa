-- Drops the partitions of days that ended before :before, one node at a time. This locks the
-- history for a moment; the timeout keeps jobs that finish from queueing behind a long report.
with mine as materialized (
  select cast(:before as double precision) as moment
  where pg_try_advisory_xact_lock(1685418597, 1)
    and set_config('lock_timeout', '500ms', true) is not null
)
select d.name from mine cross join lateral dure_drop_partitions(mine.moment) as d (name)
