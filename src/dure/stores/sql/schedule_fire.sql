-- Moves a schedule on from the firing the caller has read; only one caller can.
update dure_schedule set next_at = cast(:next_at as double precision), last_at = :last_at,
  fired = fired + :fired, missed_count = missed_count + :missed
where name = :name and next_at = :expected and not paused
returning name
