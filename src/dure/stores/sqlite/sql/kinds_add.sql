-- Names kinds; the caller has looked for free ids in this transaction. Materialized, so that
-- SQLite indexes the lists by itself: joining json_each directly takes quadratic time.
with i as materialized (select key, value from json_each(:ids)),
  n as materialized (select key, value from json_each(:names))
insert into dure_kind (id, name) select i.value, n.value from i join n on n.key = i.key
