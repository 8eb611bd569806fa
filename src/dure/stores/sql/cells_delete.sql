-- Removes cells that this transaction has locked.
delete from dure_cell where space = :space and name = any (:names) returning value
