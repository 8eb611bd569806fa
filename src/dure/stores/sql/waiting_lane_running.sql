-- How many of a lane's first :most ready jobs run; needs dure_live_ready.
select count(*) as jobs from (
  select state from dure_live
  where ready and stream >= :low and stream < :high order by stream, pos limit :most) j
where state = 1
