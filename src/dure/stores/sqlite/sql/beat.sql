-- Renews a worker's lease; answers nothing when the worker was declared dead.
update dure_worker set beat_at = ?3, lease_until = ?3 + ?2
where id = ?1 and lease_until > ?3
returning lease_until
