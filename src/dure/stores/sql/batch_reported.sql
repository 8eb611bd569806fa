-- Stores the report of an ended batch as sent, unless there is one.
update dure_batch set report = :report
where id = :id and state in ('done', 'interrupted') and report is null
