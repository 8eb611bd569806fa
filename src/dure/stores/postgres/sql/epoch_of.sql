-- The current epochs of subjects, locked against change until the transaction ends.
select subject, epoch from dure_epoch where subject = any ($1::text[]) order by subject for share
