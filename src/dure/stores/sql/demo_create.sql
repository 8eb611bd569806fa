-- The demonstration's own table; a job that wrote twice would show.
create table demo_parcel (job bigint not null, lane text not null, number bigint not null)
