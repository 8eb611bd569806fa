-- Batches of a name that are not over, through dure_batch_unfinished.
select * from dure_batch where name = :name and state in ('open', 'sealed') order by id
