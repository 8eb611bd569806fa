-- How many of a batch's newest :most finished jobs ended in each span of :seconds; needs
-- dure_history_batch.
select cast(finished_at as bigint) / cast(:seconds as bigint) as span, count(*) as jobs from (
  select finished_at from dure_history where batch = :of order by id desc limit :most) x
group by 1 order by 1
