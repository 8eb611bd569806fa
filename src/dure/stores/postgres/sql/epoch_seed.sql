-- Gives subjects that nobody has raised yet a row, so that there is something to lock.
insert into dure_epoch (subject, epoch)
select a.subject, 0 from unnest($1::text[]) as a (subject) order by a.subject
on conflict (subject) do nothing
