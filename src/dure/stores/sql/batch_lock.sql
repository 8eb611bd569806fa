-- One batch, locked, by primary key.
select * from dure_batch where id = :id for update
