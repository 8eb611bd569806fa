-- Deletes finished jobs that are old still; by the primary key.
delete from dure_history where id = any (:ids) and finished_at < :before returning id
