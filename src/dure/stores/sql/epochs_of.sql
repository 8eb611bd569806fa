-- The epochs of subjects, by primary key.
select subject, epoch from dure_epoch where subject = any (:subjects)
