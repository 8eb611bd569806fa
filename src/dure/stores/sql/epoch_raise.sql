-- Raises an epoch or leaves it; the row stays locked until the commit.
insert into dure_epoch (subject, epoch)
values (:subject, coalesce(cast(:epoch as bigint), 1))
on conflict (subject) do update set epoch = case
  when cast(:epoch as bigint) is null then dure_epoch.epoch + 1
  when cast(:epoch as bigint) > dure_epoch.epoch then cast(:epoch as bigint)
  else dure_epoch.epoch end
returning epoch
