-- A page of the audit, newest first, by primary key.
select * from dure_audit
where cast(:before_id as bigint) is null or id < cast(:before_id as bigint)
order by id desc limit :limit
