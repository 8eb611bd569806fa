-- A page of batches, newest first, by primary key.
select * from dure_batch
where (cast(:before_id as bigint) is null or id < cast(:before_id as bigint))
  and (cast(:name as text) is null or name = cast(:name as text))
  and (cast(:state as text) is null or state = cast(:state as text))
order by id desc limit :limit
