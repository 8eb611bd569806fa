-- Unique keys under a prefix, in order, and nothing else about them: what fills a filter.
select key from dure_key
where key >= :prefix and key > :after and key < :beyond
order by key limit :most
