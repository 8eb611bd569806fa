-- Lists, articles with every version of them, and what the models made of each version.
create table newsroom_list (
  section text primary key,
  etag text,
  last_modified text,
  checked_at double precision not null
);

create table newsroom_article (
  id text primary key,
  oid text not null,
  aid text not null,
  section text not null,
  url text not null,
  kept text not null check (kept in ('ok', 'deleted', 'foreign')),
  version integer not null,
  title text not null,
  press text not null,
  reporter text not null,
  characters integer not null,
  fingerprint text not null,
  is_urgent integer not null check (is_urgent in (0, 1)),
  published_at double precision,
  edited_at double precision,
  first_seen_at double precision not null,
  checked_at double precision not null,
  etag text,
  last_modified text,
  unique (oid, aid)
);

create index newsroom_article_newest on newsroom_article (published_at);

create index newsroom_article_to_check on newsroom_article (section, checked_at);

create table newsroom_version (
  article text not null,
  version integer not null,
  title text not null,
  body text not null,
  edited_at double precision,
  saved_at double precision not null,
  primary key (article, version)
);

create table newsroom_result (
  article text not null,
  version integer not null,
  kind text not null,
  answer text not null,
  model text not null,
  prompt text not null,
  made_at double precision not null,
  primary key (article, version, kind)
);
