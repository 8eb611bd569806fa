-- One operator command, written in the transaction that carries it out.
insert into dure_audit (at, actor, command, target, reason, count, before, after)
values (:at, :actor, :command, :target, :reason, :count, cast(:before as text),
        cast(:after as text))
returning id
