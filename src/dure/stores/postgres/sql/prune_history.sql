-- Deletes finished jobs that are old still, of days without a partition; needs the index on id.
delete from dure_history_rest where id = any (:ids) and finished_at < :before returning id
