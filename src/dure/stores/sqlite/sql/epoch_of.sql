-- The current epoch of a subject.
select epoch from dure_epoch where subject = ?1
