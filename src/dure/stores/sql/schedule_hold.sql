-- Pauses or resumes a schedule that this transaction has locked.
update dure_schedule set paused = :paused, next_at = cast(:next_at as double precision)
where name = :name
