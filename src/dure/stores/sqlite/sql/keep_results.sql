-- The same as keep.sql for jobs with results; ?1 is a JSON list of [id, result] pairs.
insert into dure_history (id, stream, enqueued_at, claimed_at, finished_at, batch, parent, epoch,
  fence, worker, tokens, state, attempt, session, subject, key, reason, error, result, body)
select l.id, l.stream, l.enqueued_at, l.claimed_at, ?4, l.batch, l.parent, l.epoch, l.fence,
  l.worker, l.tokens, ?5, l.attempt, l.session, l.subject, l.key, coalesce(?6, l.reason),
  coalesce(?7, l.error), j.value ->> 1, l.body
from json_each(?1) j cross join dure_live l on l.id = j.value ->> 0
where l.fence = ?2 and l.state = ?3
