-- A page of lanes by name; a lane's jobs are the streams of one range of dure_live_ready, of
-- which a bounded part is counted.
select l.*,
  (select count(*) from (
    select j.state from dure_live j
    where j.ready and j.stream between (l.id << 16) and (l.id << 16) + 65535
    limit :count_max) s where s.state = 0) as waiting,
  (select count(*) from (
    select j.state from dure_live j
    where j.ready and j.stream between (l.id << 16) and (l.id << 16) + 65535
    limit :count_max) s where s.state = 1) as running
from dure_lane l where l.name > :after_name order by l.name limit :limit
