-- Takes a locked job out of history; the columns are those that revive_add.sql puts back.
delete from dure_history where id = :id and fence = :fence and state = :state
returning id, stream, enqueued_at, batch, parent, epoch, fence, tokens, session, subject, key,
  error, body
