-- What the last visit of a polled page found: its validators, and what was to be polled again.

create table dure_visit (
  key text primary key,
  etag text,
  last_modified text,
  again text not null,
  at real not null
) strict;
