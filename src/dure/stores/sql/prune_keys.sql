-- Frees unique keys whose period is over; needs dure_key_until. Materialized, as PostgreSQL might
-- run the list again for each key and then go past its limit.
with old as materialized (
  select key from dure_key
  where until is not null and until <= :now order by until limit :most for update skip locked
)
delete from dure_key where key in (select key from old) and until <= :now
returning key
