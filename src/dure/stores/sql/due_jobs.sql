-- Waiting jobs whose time has come, the longest due first, and whether their session is paused;
-- needs dure_live_due.
select id, session is not null and exists (
    select 1 from dure_pause p where p.scope = 'session' and p.name = session) as held
from dure_live
where due is not null and due <= :now and state = 2
order by due, id limit :most for update skip locked
