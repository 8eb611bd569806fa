-- Claims waiting jobs of one stream under new fences; walks dure_live_ready.
update dure_live set state = 1, fence = fence + 1, attempt = attempt + 1, worker = ?4,
  claimed_at = ?5
where id in (
  select l.id from dure_live l
  where l.stream = ?1 and l.ready and l.pos >= ?3 and l.state = 0
  order by l.pos limit ?2)
returning id, fence, stream, pos, attempt, body, enqueued_at, batch, parent, session, subject,
  epoch, tokens, key
