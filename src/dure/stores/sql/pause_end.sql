-- Ends a pause, by primary key; answers nothing when there is none.
delete from dure_pause where scope = :scope and name = :name returning *
