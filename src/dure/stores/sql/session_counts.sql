-- How many jobs of a session stand in each state; needs dure_live_session, dure_history_session.
select state, count(*) as jobs from dure_live where session = :session group by state
union all
select state, count(*) as jobs from dure_history where session = :session group by state
