-- Writes cells; the transaction is the lock. Materialized lists are indexed by SQLite itself.
with k as materialized (select key, value from json_each(:names)),
  v as materialized (select key, value from json_each(:texts))
update dure_cell set value = n.text, at = :now
from (select k.value as name, v.value as text from k join v on v.key = k.key) n
where dure_cell.space = :space and dure_cell.name = n.name
