-- Ids of jobs that a filter means, in order; walks both tables by id, or an index the filter names.
select id from (
  select * from (
    select id from (select *, cast(null as double precision) as finished_at from dure_live) x
    where cast(:live as boolean) and id > :low and id < :high and /*where*/
    order by id limit :most) a
  union all
  select * from (
    select id from dure_history
    where cast(:history as boolean) and id > :low and id < :high and /*where*/
    order by id limit :most) b
) j
order by id limit :most
