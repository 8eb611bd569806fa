-- Writes cells that this transaction has locked.
update dure_cell c set value = n.value, at = :now
from unnest(cast(:names as text[]), cast(:texts as text[])) as n (name, value)
where c.space = :space and c.name = n.name
