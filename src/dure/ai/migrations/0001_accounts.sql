-- What was asked and what it cost: one row for each attempt that reached a provider, and for
-- each answer that came from the cache. Money is in billionths of the currency's unit.
create table dure_ai_call (
  at double precision not null,
  job bigint not null,
  fence bigint not null,
  attempt integer not null,
  kind text not null,
  lane text not null,
  account text not null,
  model text not null,
  prompt text not null,
  version integer not null,
  schema text not null,
  disposition text not null,
  code text not null,
  input bigint not null,
  output bigint not null,
  cached bigint not null,
  estimated bigint not null,
  cost bigint not null
);
create index dure_ai_call_at on dure_ai_call (at);
create index dure_ai_call_job on dure_ai_call (job);

-- Answers that were paid for, kept before anything is done with them: an attempt that fails
-- after its answer came does not pay twice.
create table dure_ai_answer (
  key text primary key,
  at double precision not null,
  model text not null,
  text text not null,
  input bigint not null,
  output bigint not null
);
create index dure_ai_answer_at on dure_ai_answer (at);
