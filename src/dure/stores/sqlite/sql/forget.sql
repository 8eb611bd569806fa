-- Removes jobs that keep.sql has copied, under the same condition.
delete from dure_live
where id in (select value from json_each(?1)) and fence = ?2 and state = ?3
