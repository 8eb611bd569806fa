-- Frees the key of a job that held it only while it was unfinished.
delete from dure_key where key = ?1 and job = ?2 and until is null
