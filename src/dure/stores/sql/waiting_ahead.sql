-- How many waiting jobs of a stream come before a position, up to :most; needs dure_live_ready.
select count(*) as jobs from (
  select id from dure_live
  where stream = :stream and ready and pos < :pos and state = 0 limit :most) j
