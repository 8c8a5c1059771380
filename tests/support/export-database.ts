// A database with rows of every kind for streamed responses, and the REST API on it.
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { Test } from 'tap'
import { fetchHandler, type FetchHandler } from '../../server/adapters/fetch.ts'
import { nodeHandler } from '../../server/adapters/node.ts'
import { createRest, type Rest, type RestObservation } from '../../server/index.ts'
import { connect } from '../../server/postgres/index.ts'
import type { ConnectedDatabase } from '../../server/postgres/connected-database.ts'
import type { RestOptionSettings } from '../../server/rest/rest-options.ts'
import { createDatabase } from './database.ts'

type Closing = Pick<Test, 'teardown'>

export type ExportDatabase = {
  readonly uri: string
  readonly role: string
  query(text: string): Promise<{ readonly rows: readonly Record<string, unknown>[] }>
}

/** Rows of `lines`, whose CSV and NDJSON are larger than what is kept until a response is complete. */
export const lineCount = 6000

/**
 * Creates tables with values that are hard to quote, and functions that set headers or fail. The rows of `notes` belong to
 * users, by the claim `sub`.
 */
export async function createExportDatabase(t: Closing): Promise<ExportDatabase> {
  const fixture = await createDatabase()
  t.teardown(() => fixture.drop())
  const role = `export_${fixture.name}`
  await fixture.query(`
    create role ${role} nologin;
    grant ${role} to current_user;
    create table public.lines (id int primary key, text text);
    insert into public.lines select i, 'line ' || i || ' ä' || repeat('x', 40 + i % 40) from generate_series(1, ${lineCount}) i;
    create table public.parts (id int primary key, line int references public.lines, name text);
    insert into public.parts select i, i % 100 + 1, E'part\\n' || i from generate_series(1, 300) i;
    create index on public.parts (line);
    create table public.empty (id int, "a,b" text);
    create view public.line_names as select text as name from public.lines;
    create table public.kinds (
      id int primary key, "wörter" text, "a ""quoted"" name" text, n numeric, f float8, b bool, j json, jb jsonb,
      bytes bytea, list text[], numbers int[], at timestamptz, d date, i interval, r int4range, c char(5), u uuid);
    create table public.notes (id int primary key, owner text, text text);
    insert into public.notes select i, case when i % 2 = 0 then 'anna' else 'ben' end, repeat('note ', 20) || i
      from generate_series(1, 10000) i;
    alter table public.notes enable row level security;
    create policy own on public.notes using (owner = current_setting('request.jwt.claims')::json ->> 'sub');
    create function public.set_of_lines(most int) returns setof public.lines stable language sql rows 1000 as
      $$ select * from public.lines order by id limit most $$;
    create function public.numbers(most int) returns setof int stable language plpgsql as
      $$ begin return query select nullif(i, 2) from generate_series(1, most) i; end $$;
    create function public.pairs(most int) returns table (a int, b text) stable language sql as
      $$ select i, repeat('p', 60) from generate_series(1, most) i $$;
    create function public.one_line() returns public.lines stable language sql as $$ select * from public.lines where id = 1 $$;
    create function public.five() returns int stable language sql as $$ select 5 $$;
    create function public.headed(most int) returns setof public.lines stable language plpgsql as $$
      begin
        perform set_config('response.headers', '[{"Content-Disposition": "attachment"}, {"Vary": "X-Own"}]', true);
        perform set_config('response.status', '203', true);
        return query select * from public.lines order by id limit most;
      end $$;
    create function public.headed_last(most int) returns setof public.lines stable language plpgsql as $$
      begin
        return query select * from public.lines order by id limit most;
        perform set_config('response.headers', format('[{"X-Rows": "%s"}]', most), true);
      end $$;
    create table public.log (id int generated always as identity, text text);
    create function public.logged(most int) returns setof public.lines volatile language plpgsql as $$
      begin insert into public.log (text) values ('called'); return query select * from public.lines limit most; end $$;
    create function public.failing(at int) returns setof int stable language sql as
      $$ select case when i = at then 1 / (i - at) else i end from generate_series(1, 1000000) i $$;
    create view public.fails_late as select case when i = 50000 then 1 / (i - 50000) else i end as n
      from (select generate_series(1, 1000000) i) g;
    create view public.endless as select i, repeat('e', 100) as text from (select generate_series(1, 1000000000) i) g;
    create view public.sleepy as select i, pg_sleep(case when i % 100 = 0 then 0.05 else 0 end)::text as slept
      from (select generate_series(1, 1000000) i) g;
    create function public.check_request() returns void language plpgsql as $$
      begin perform set_config('response.headers', '[{"X-Checked": "yes"}]', true); end $$;
    grant all on all tables in schema public to ${role}`)
  t.teardown(() => fixture.query(`drop owned by ${role}; drop role ${role}`))
  return { uri: fixture.adminUri, role, query: (text) => fixture.query(text) }
}

export type ExportApi = {
  readonly url: string
  readonly port: number
  readonly rest: Rest
  readonly handle: FetchHandler
  readonly database: ConnectedDatabase
  readonly observed: RestObservation[]
  readonly server: Server
}

/** Starts the API on its own pool. The header `X-User` is the claim `sub`. */
export async function startExportApi(
  t: Closing,
  { uri, role }: ExportDatabase,
  settings: RestOptionSettings = {},
  dbPool = 3,
): Promise<ExportApi> {
  const database = connect(uri, { dbPool, dbPoolAcquisitionTimeout: 60 })
  const observed: RestObservation[] = []
  const rest = await createRest({
    database,
    schemas: ['public'],
    identify: (request) => ({ role, claims: { sub: request.header('x-user') ?? 'anonymous' } }),
    settings,
    onRequest: (observation) => observed.push(observation),
    onSchema: () => undefined,
  })
  const server = createServer(nodeHandler(rest, { onError: () => undefined }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rest.close()
    await database.close()
  })
  return { url: `http://127.0.0.1:${port}`, port, rest, handle: fetchHandler(rest), database, observed, server }
}
