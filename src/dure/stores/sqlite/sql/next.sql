-- What a claim will take: up to ?2 waiting jobs of each stream of ?1, an object of stream to
-- mark; one probe of dure_live_ready a stream. All of it is one JSON list, because fetching
-- row after row gives the interpreter to the other thread each time. A time keeps all its digits.
select json_group_array(json_array(
  l.id, l.fence + 1, l.stream, l.pos, l.attempt + 1, l.body,
  json(printf('%!.17g', l.enqueued_at)), l.batch, l.parent, l.session, l.subject, l.epoch,
  l.tokens, l.key))
from json_each(?1) a cross join dure_live l
where l.id in (
  select w.id from dure_live w
  where w.stream = a.key and w.ready and w.pos >= a.value and w.state = 0
  order by w.pos limit ?2)
