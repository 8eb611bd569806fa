-- Writes the state of a batch that this transaction has locked.
update dure_batch set state = :state, sealed_at = cast(:sealed_at as double precision),
  ended_at = cast(:ended_at as double precision),
  lease_until = cast(:lease_until as double precision), note = :note
where id = :id
