-- One pause, locked, by primary key.
select * from dure_pause where scope = :scope and name = :name for update
