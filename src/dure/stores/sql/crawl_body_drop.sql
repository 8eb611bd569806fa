-- Forgets a kept body: it was parsed after all.
delete from dure_body where key = :key
