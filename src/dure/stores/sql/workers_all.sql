-- Every worker: one row a process.
select * from dure_worker order by id
