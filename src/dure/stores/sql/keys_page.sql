-- Unique keys under a prefix, in order, by the primary key; an unfinished job holds its own.
select k.key, k.job, k.until, exists (select 1 from dure_live j where j.id = k.job) as is_held
from dure_key k
where k.key >= :prefix and k.key > :after and k.key < :beyond
order by k.key limit :most
