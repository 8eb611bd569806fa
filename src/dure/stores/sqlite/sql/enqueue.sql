-- Inserts one job; id and position come from dure_seq in the same transaction.
insert into dure_live (id, stream, pos, enqueued_at, due, batch, parent, epoch, tokens, state,
  ready, session, subject, key, reason, body)
values (?1, ?2, ?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
