-- How many jobs a filter means, up to :most in each table; reads them all when fewer match.
select count(*) as jobs from (
  select * from (
    select id from (select *, cast(null as double precision) as finished_at from dure_live) x
    where cast(:live as boolean) and /*where*/
    limit :most) a
  union all
  select * from (
    select id from dure_history
    where cast(:history as boolean) and /*where*/
    limit :most) b
) j
