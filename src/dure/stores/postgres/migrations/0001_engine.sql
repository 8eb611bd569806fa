-- The engine's tables: unfinished work in dure_live, finished work in daily partitions.
-- Times are epoch seconds (UTC) by the database's clock. States are the numbers of core/state.py.

create sequence dure_seq;

create table dure_live (
  id bigint primary key,
  stream bigint not null,
  pos bigint not null,
  enqueued_at double precision not null,
  claimed_at double precision,
  due double precision,
  batch bigint,
  parent bigint,
  epoch bigint not null default 0,
  fence integer not null default 0,
  worker integer,
  tokens integer not null default 0,
  state smallint not null check (state in (0, 1, 2, 3)),
  attempt smallint not null default 0,
  ready boolean not null,
  session text,
  subject text,
  key text,
  reason text,
  error text,
  body text not null
) with (
  -- Room for a second version of every row, which a claim makes 16 bytes longer.
  fillfactor = 45,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_scale_factor = 0.0,
  autovacuum_vacuum_insert_threshold = -1,
  autovacuum_analyze_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  vacuum_truncate = off
);
-- Nothing a claim writes (state, fence, attempt, worker, claimed_at) may appear in any index
-- or index condition: that keeps claims HOT. A test asserts it.
create index dure_live_ready on dure_live (stream, pos) where ready;
create index dure_live_due on dure_live (due) where due is not null;
create index dure_live_suspended on dure_live (reason, stream) where not ready and due is null;
create index dure_live_session on dure_live (session) where session is not null;
create index dure_live_batch on dure_live (batch) where batch is not null;

create table dure_history (
  id bigint not null,
  stream bigint not null,
  enqueued_at double precision not null,
  claimed_at double precision,
  finished_at double precision not null,
  batch bigint,
  parent bigint,
  epoch bigint not null,
  fence integer not null,
  worker integer,
  tokens integer not null,
  state smallint not null check (state in (4, 5, 6, 7)),
  attempt smallint not null,
  session text,
  subject text,
  key text,
  reason text,
  error text,
  result text,
  body text not null
) partition by range (finished_at);
create index dure_history_id on dure_history (id);
create index dure_history_ended on dure_history (state, finished_at) where state <> 4;
create index dure_history_batch on dure_history (batch) where batch is not null;
create index dure_history_session on dure_history (session) where session is not null;

create table dure_attempt (
  job bigint not null,
  fence integer not null,
  attempt smallint not null,
  worker integer,
  started_at double precision,
  ended_at double precision not null,
  event text not null,
  error text
) partition by range (ended_at);
create index dure_attempt_job on dure_attempt (job);

create table dure_history_rest partition of dure_history default;
create table dure_attempt_rest partition of dure_attempt default;

-- Creates the partitions of `days` days from the day that holds `moment`.
create function dure_partitions(moment double precision, days integer) returns void
language plpgsql as $$
declare
  first integer := floor(moment / 86400);
  day integer;
  parent text;
begin
  for day in first .. first + days - 1 loop
    foreach parent in array array['dure_history', 'dure_attempt'] loop
      if to_regclass(parent || '_' || day) is null then
        execute format('create table %I partition of %I for values from (%s) to (%s)',
                       parent || '_' || day, parent, day * 86400.0, (day + 1) * 86400.0);
      end if;
    end loop;
  end loop;
end $$;

-- Drops the partitions that end at or before `moment`; returns their names.
create function dure_drop_partitions(moment double precision) returns setof text
language plpgsql as $$
declare
  name text;
begin
  for name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('dure_history'::regclass, 'dure_attempt'::regclass)
      and c.relname ~ '_[0-9]+$'
      and (substring(c.relname from '[0-9]+$')::integer + 1) * 86400.0 <= moment
  loop
    execute format('drop table %I', name);
    return next name;
  end loop;
end $$;

-- In the order of bytes, so that the keys under a prefix are one range of the index.
create table dure_key (
  key text collate "C" primary key,
  job bigint not null,
  until double precision
);
create index dure_key_until on dure_key (until) where until is not null;

create table dure_kind (
  id integer primary key,
  name text not null unique
);

create table dure_lane (
  id bigint generated always as identity primary key,
  name text not null unique,
  version bigint not null default 0,
  weight double precision not null default 1,
  max_running integer,
  limits text not null default '[]',
  failures integer not null default 0,
  failures_max integer not null default 0,
  disabled_at double precision,
  disabled_until double precision,
  last_served_at double precision
);
create index dure_lane_version on dure_lane (version) where version > 0;

create table dure_pause (
  scope text not null check (scope in ('all', 'kind', 'lane', 'session')),
  name text not null,
  reason text not null,
  by text not null,
  at double precision not null,
  drain boolean not null,
  primary key (scope, name)
);

create table dure_worker (
  id integer generated always as identity primary key,
  name text not null,
  host text not null,
  pid integer not null,
  version text not null,
  kinds text not null,
  slots integer not null,
  state text not null check (state in ('running', 'draining')),
  started_at double precision not null,
  beat_at double precision not null,
  lease_until double precision not null
);

create table dure_cell (
  space text not null,
  name text not null,
  value text not null,
  at double precision not null,
  primary key (space, name)
);

create table dure_batch (
  id bigint generated always as identity primary key,
  name text not null,
  state text not null check (state in ('open', 'sealed', 'done', 'interrupted')),
  opened_at double precision not null,
  sealed_at double precision,
  ended_at double precision,
  lease_until double precision,
  added bigint not null default 0,
  success bigint not null default 0,
  failed bigint not null default 0,
  skipped bigint not null default 0,
  stale bigint not null default 0,
  cancelled bigint not null default 0,
  orphans bigint not null default 0,
  report text,
  note text not null default ''
);
create index dure_batch_unfinished on dure_batch (name) where state in ('open', 'sealed');
create index dure_batch_opened on dure_batch (opened_at);

create table dure_tally (
  batch bigint not null,
  at double precision not null,
  added integer not null,
  success integer not null,
  failed integer not null,
  skipped integer not null,
  stale integer not null,
  cancelled integer not null
);

create table dure_schedule (
  name text primary key,
  version bigint not null default 0,
  timetable text not null,
  zone text not null,
  missed text not null,
  job text not null,
  next_at double precision,
  last_at double precision,
  fired bigint not null default 0,
  missed_count bigint not null default 0,
  paused boolean not null default false
);

create table dure_epoch (
  subject text primary key,
  epoch bigint not null
);

create table dure_setting (
  key text primary key,
  value text not null,
  by text not null,
  at double precision not null
);

create table dure_audit (
  id bigint generated always as identity primary key,
  at double precision not null,
  actor text not null,
  command text not null,
  target text not null,
  reason text not null,
  count bigint not null,
  before text,
  after text
);

-- Grows with each change of lanes, pauses, limits, settings and schedules; nodes watch it.
create table dure_control (
  version bigint not null
);
insert into dure_control values (1);

select dure_partitions(extract(epoch from clock_timestamp())::double precision - 86400, 9);
