-- How many jobs ended without success since a moment, by state; needs dure_history_ended.
select state, count(*) as jobs from dure_history
where state in (5, 6, 7) and state <> 4 and finished_at >= :since
group by state
