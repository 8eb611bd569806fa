"""One PostgreSQL database for many tests: each finds it as it was made.

To make a database and to drop it costs a server hundreds of files; to empty one that is there
is a matter of milliseconds.
"""

from typing import Final

import psycopg

_KEEP: Final = """
create schema kept;
do $$ declare place regclass; is_used boolean; begin
  for place in select oid from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'dure_migration'
  loop
    execute format('select exists (select from %s)', place) into is_used;
    if is_used then execute format('create table kept.%I as table %s', place, place); end if;
  end loop;
end $$;
create table kept."known" as
  select relname from pg_class where relnamespace = 'public'::regnamespace"""

_RESTORE: Final = """
set lock_timeout = '5s';
select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid();
do $$ declare place record; begin
  execute format('alter database %I reset all', current_database());
  for place in select quote_ident(nspname) as name from pg_namespace
    where nspname not in ('public', 'kept', 'information_schema') and nspname !~ '^pg_'
  loop execute format('drop schema %s cascade', place.name); end loop;
  for place in select oid::regclass as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
      and relname not in (select relname from kept."known")
  loop execute format('drop table if exists %s cascade', place.name); end loop;
  for place in select oid::regclass as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'dure_migration'
      and pg_relation_size(oid) > 0
  loop execute format('delete from %s', place.name); end loop;
  for place in select oid::regclass as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'S'
  loop perform setval(place.name, 1, false); end loop;
  for place in select quote_ident(relname) as name from pg_class
    where relnamespace = 'kept'::regnamespace and relkind = 'r' and relname <> 'known'
  loop
    execute format(
      'insert into public.%s overriding system value table kept.%s', place.name, place.name);
  end loop;
  if exists (
    select from kept."known" where relname not in (
      select relname from pg_class where relnamespace = 'public'::regnamespace)
  ) then raise exception 'a test has dropped what cannot be made again'; end if;
end $$"""
_USES_MAX: Final = 200
"""Then a new one: nobody removes what the deleted rows leave behind."""


class SharedDatabase:
    """A copy of a template that is emptied between tests, and made anew where that fails."""

    def __init__(self, desk: psycopg.Connection, url_of_desk: str, template: str) -> None:
        self._desk = desk
        self._template = template
        self._name = f"shared_{template}"
        self.url = url_of_desk.replace("/postgres?", f"/{self._name}?")
        self._connection: psycopg.Connection | None = None
        self._uses = _USES_MAX

    def empty(self) -> None:
        """Make it as the template is."""
        self._uses += 1
        if self._connection is not None and self._uses < _USES_MAX:
            try:
                self._connection.execute(_RESTORE.encode())
            except psycopg.Error:
                self._uses = _USES_MAX
            else:
                return
        self.close()
        self._desk.execute(f"drop database if exists {self._name} with (force)".encode())
        copied = f"create database {self._name} template {self._template} strategy file_copy"
        self._desk.execute(copied.encode())
        self._connection = psycopg.connect(self.url, autocommit=True)
        self._connection.execute(_KEEP.encode())
        self._uses = 0

    def close(self) -> None:
        """Let go of it."""
        if self._connection is not None:
            self._connection.close()
