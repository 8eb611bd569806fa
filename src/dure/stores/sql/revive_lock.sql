-- Locks a finished job that still stands as expected; needs the primary key or dure_history_id.
select id from dure_history where id = :id and fence = :fence and state = :state for update
