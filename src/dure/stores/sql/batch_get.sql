-- One batch, by primary key.
select * from dure_batch where id = :id
