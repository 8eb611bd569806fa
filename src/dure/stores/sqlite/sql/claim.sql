-- Claims up to ?2 waiting jobs of each stream of ?1, an object of stream to mark, under new
-- fences; one probe of dure_live_ready a stream.
update dure_live set state = 1, fence = fence + 1, attempt = attempt + 1, worker = ?3,
  claimed_at = ?4
where id in (
  select c.id from json_each(?1) a cross join dure_live c
  where c.id in (
    select l.id from dure_live l
    where l.stream = a.key and l.ready and l.pos >= a.value and l.state = 0
    order by l.pos limit ?2))
returning id, fence, stream, pos, attempt, body, enqueued_at, batch, parent, session, subject,
  epoch, tokens, key
