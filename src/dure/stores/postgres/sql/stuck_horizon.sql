-- The oldest transaction of this database that vacuum must spare rows for, and how many dead rows
-- of dure_live there are.
select o.seconds, o.pid, pg_stat_get_dead_tuples(to_regclass('dure_live')) as dead_rows
from (values (1)) as one (row) left join lateral (
  select a.pid, cast(extract(epoch from clock_timestamp() - a.xact_start) as double precision)
           as seconds
  from pg_stat_activity a
  where a.datname = current_database() and a.pid <> pg_backend_pid()
    and a.xact_start is not null and a.backend_type <> 'autovacuum worker'
    and (a.backend_xmin is not null or a.backend_xid is not null)
  order by greatest(age(a.backend_xmin), age(a.backend_xid)) desc, a.xact_start limit 1) o on true
