-- The next finished jobs by id, old or not, of days without a partition; needs the index on id.
select id, enqueued_at, finished_at from dure_history_rest
where id > :after order by id limit :most
