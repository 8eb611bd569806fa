-- Renews the lease of whoever opened the batch.
update dure_batch set lease_until = :lease_until where id = :id and state = 'open' returning id
