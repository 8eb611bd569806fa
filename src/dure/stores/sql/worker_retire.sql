-- Ends a worker's lease; its last beat lies in the past, so no clock is needed.
update dure_worker set state = 'draining', lease_until = beat_at where id = :id
