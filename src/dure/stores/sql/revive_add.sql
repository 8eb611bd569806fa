-- Puts a job that revive_take.sql has taken back among the unfinished ones.
insert into dure_live (id, stream, pos, enqueued_at, due, batch, parent, epoch, fence, tokens,
  state, attempt, ready, session, subject, key, reason, error, body)
values (:id, :stream, :pos, :enqueued_at, :due, :batch, :parent, :epoch, :fence, :tokens,
  :state, :attempt, :ready, :session, :subject, :key, :reason, :error, :body)
