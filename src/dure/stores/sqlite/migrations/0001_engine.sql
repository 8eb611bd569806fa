-- The engine's tables: unfinished work in dure_live, finished work in dure_history.
-- Times are epoch seconds (UTC) by the machine's clock. States are the numbers of core/state.py.

create table dure_seq (value integer not null) strict;
insert into dure_seq values (0);

create table dure_live (
  id integer primary key,
  stream integer not null,
  pos integer not null,
  enqueued_at real not null,
  claimed_at real,
  due real,
  batch integer,
  parent integer,
  epoch integer not null default 0,
  fence integer not null default 0,
  worker integer,
  tokens integer not null default 0,
  state integer not null check (state in (0, 1, 2, 3)),
  attempt integer not null default 0,
  ready integer not null,
  session text,
  subject text,
  key text,
  reason text,
  error text,
  body text not null
) strict;
-- Nothing a claim writes (state, fence, attempt, worker, claimed_at) appears in an index:
-- a claim changes the row in place and no index entry moves.
create index dure_live_ready on dure_live (stream, pos) where ready;
create index dure_live_due on dure_live (due) where due is not null;
create index dure_live_suspended on dure_live (reason, stream) where not ready and due is null;
create index dure_live_session on dure_live (session) where session is not null;
create index dure_live_batch on dure_live (batch) where batch is not null;

create table dure_history (
  id integer primary key,
  stream integer not null,
  enqueued_at real not null,
  claimed_at real,
  finished_at real not null,
  batch integer,
  parent integer,
  epoch integer not null,
  fence integer not null,
  worker integer,
  tokens integer not null,
  state integer not null check (state in (4, 5, 6, 7)),
  attempt integer not null,
  session text,
  subject text,
  key text,
  reason text,
  error text,
  result text,
  body text not null
) strict;
create index dure_history_ended on dure_history (state, finished_at) where state <> 4;
create index dure_history_batch on dure_history (batch) where batch is not null;
create index dure_history_session on dure_history (session) where session is not null;

create table dure_attempt (
  job integer not null,
  fence integer not null,
  attempt integer not null,
  worker integer,
  started_at real,
  ended_at real not null,
  event text not null,
  error text
) strict;
create index dure_attempt_job on dure_attempt (job);

create table dure_key (
  key text primary key,
  job integer not null,
  until real
) strict;
create index dure_key_until on dure_key (until) where until is not null;

create table dure_kind (
  id integer primary key,
  name text not null unique
) strict;

create table dure_lane (
  id integer primary key autoincrement,
  name text not null unique,
  version integer not null default 0,
  weight real not null default 1,
  max_running integer,
  limits text not null default '[]',
  failures integer not null default 0,
  failures_max integer not null default 0,
  disabled_at real,
  disabled_until real,
  last_served_at real
) strict;
create index dure_lane_version on dure_lane (version) where version > 0;

create table dure_pause (
  scope text not null check (scope in ('all', 'kind', 'lane', 'session')),
  name text not null,
  reason text not null,
  by text not null,
  at real not null,
  drain integer not null,
  primary key (scope, name)
) strict;

create table dure_worker (
  id integer primary key autoincrement,
  name text not null,
  host text not null,
  pid integer not null,
  version text not null,
  kinds text not null,
  slots integer not null,
  state text not null check (state in ('running', 'draining')),
  started_at real not null,
  beat_at real not null,
  lease_until real not null
) strict;

create table dure_cell (
  space text not null,
  name text not null,
  value text not null,
  at real not null,
  primary key (space, name)
) strict;

create table dure_batch (
  id integer primary key autoincrement,
  name text not null,
  state text not null check (state in ('open', 'sealed', 'done', 'interrupted')),
  opened_at real not null,
  sealed_at real,
  ended_at real,
  lease_until real,
  added integer not null default 0,
  success integer not null default 0,
  failed integer not null default 0,
  skipped integer not null default 0,
  stale integer not null default 0,
  cancelled integer not null default 0,
  orphans integer not null default 0,
  report text,
  note text not null default ''
) strict;
create index dure_batch_unfinished on dure_batch (name) where state in ('open', 'sealed');
create index dure_batch_opened on dure_batch (opened_at);

create table dure_tally (
  batch integer not null,
  at real not null,
  added integer not null,
  success integer not null,
  failed integer not null,
  skipped integer not null,
  stale integer not null,
  cancelled integer not null
) strict;

create table dure_schedule (
  name text primary key,
  version integer not null default 0,
  timetable text not null,
  zone text not null,
  missed text not null,
  job text not null,
  next_at real,
  last_at real,
  fired integer not null default 0,
  missed_count integer not null default 0,
  paused integer not null default 0
) strict;

create table dure_epoch (
  subject text primary key,
  epoch integer not null
) strict;

create table dure_setting (
  key text primary key,
  value text not null,
  by text not null,
  at real not null
) strict;

create table dure_audit (
  id integer primary key autoincrement,
  at real not null,
  actor text not null,
  command text not null,
  target text not null,
  reason text not null,
  count integer not null,
  before text,
  after text
) strict;

-- Grows with each change of lanes, pauses, limits, settings and schedules; nodes watch it.
create table dure_control (
  version integer not null
) strict;
insert into dure_control values (1);
