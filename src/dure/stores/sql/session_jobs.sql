-- Unfinished jobs of one session, through dure_live_session.
select * from dure_live
where session = :session and state = any (:states) and id > :after
order by id limit :limit
