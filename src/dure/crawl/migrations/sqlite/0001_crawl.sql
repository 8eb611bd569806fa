-- What crawls save: items by type and key within a session, and bodies that could not be parsed.

create table dure_item (
  id integer primary key,
  session text not null,
  spider text not null,
  type text not null,
  key text not null,
  url text not null,
  body text not null,
  at real not null,
  unique (session, type, key)
) strict;

create table dure_body (
  key text primary key,
  url text not null,
  status integer not null,
  content_type text not null,
  body blob not null,
  at real not null
) strict;
