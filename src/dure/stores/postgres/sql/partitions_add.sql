-- Creates the partitions of the next :days days, unless the last of them is there. A day whose
-- rows have come into the default partition already cannot have one of its own any more.
-- One node at a time; and as this locks the history for a moment, never waiting long for it.
with first as materialized (
  select greatest(cast(:now as double precision),
                  (select max(finished_at) + 86400 from dure_history_rest),
                  (select max(ended_at) + 86400 from dure_attempt_rest)) as moment,
         cast(floor(:now / 86400) as integer) + cast(:days as integer) as stop
  where to_regclass('dure_history_' || (floor(:now / 86400) + :days - 1)) is null
    and pg_try_advisory_xact_lock(1685418597, 1)
    and set_config('lock_timeout', '500ms', true) is not null
)
select dure_partitions(moment, stop - cast(floor(moment / 86400) as integer)) from first
