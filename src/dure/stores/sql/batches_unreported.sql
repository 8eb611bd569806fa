-- Ended batches whose report was not sent; reads the whole table of batches.
select * from dure_batch
where state in ('done', 'interrupted') and report is null
order by id limit :limit
