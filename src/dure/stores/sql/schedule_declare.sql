-- Stores a schedule and answers its name, or nothing when it is exactly so already.
insert into dure_schedule (name, timetable, zone, missed, job, next_at)
values (:name, :timetable, :zone, :missed, :job, cast(:next_at as double precision))
on conflict (name) do update set timetable = excluded.timetable, zone = excluded.zone,
  missed = excluded.missed, job = excluded.job,
  next_at = case
    when dure_schedule.timetable = excluded.timetable and dure_schedule.zone = excluded.zone
    then dure_schedule.next_at else excluded.next_at end
where dure_schedule.timetable <> excluded.timetable or dure_schedule.zone <> excluded.zone
  or dure_schedule.missed <> excluded.missed or dure_schedule.job <> excluded.job
returning name
