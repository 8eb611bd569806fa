-- Finished jobs by lane.
select l.name, count(*) as jobs from dure_history h join dure_lane l on l.id = h.stream >> 16
group by l.name order by l.name
