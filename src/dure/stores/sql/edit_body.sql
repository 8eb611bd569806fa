-- Gives an unfinished job that does not run other arguments, if state and fence still hold.
update dure_live set body = :body
where id = :id and fence = :fence and state = :state and state <> 1
returning id
