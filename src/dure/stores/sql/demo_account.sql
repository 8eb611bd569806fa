-- What handlers noted, against the jobs that succeeded.
select
  (select count(*) from dure_attempt where event = 'lease_lost') as taken_back,
  (select count(*) from demo_parcel) as noted,
  (select count(*) from (
     select job from demo_parcel group by job having count(*) > 1) doubles) as noted_twice,
  (select count(*) from dure_history h
   join dure_kind k on k.id = (h.stream >> 2) & 16383
   where h.state = 4 and k.name = 'parcel'
     and not exists (select 1 from demo_parcel p where p.job = h.id)) as unnoted
