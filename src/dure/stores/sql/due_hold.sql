-- Suspends due jobs of a paused session, as enqueueing does; by the primary key.
update dure_live set state = 3, due = null, ready = false, reason = 'paused'
where id = any (:ids) and state = 2
