-- Moves a job between unfinished states if state and fence still hold.
update dure_live set state = ?4, attempt = ?5, stream = ?6, due = ?7, ready = (?4 = 0),
  pos = coalesce(?10, pos), reason = ?8, error = coalesce(?9, error), worker = null,
  claimed_at = null
where id = ?1 and fence = ?2 and state = ?3
