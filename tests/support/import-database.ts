// A database with tables for imports, and the REST API on it.
import type { Test } from 'tap'
import { nodeHandler } from '../../server/adapters/node.ts'
import type { ImportEvent } from '../../server/rest/extensions/imports/import-progress.ts'
import { createRest, type Rest } from '../../server/index.ts'
import { connect } from '../../server/postgres/index.ts'
import type { RestOptionSettings } from '../../server/rest/rest-options.ts'
import type { BodyValidator } from '../../server/rest/validation.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { listen } from './listening.ts'

export type ImportDatabase = TestDatabase & {
  readonly role: string
  /** Connection string of a login role without privileges of its own. */
  readonly serverUri: string
}

export async function createImportDatabase(t: Pick<Test, 'teardown'>): Promise<ImportDatabase> {
  const database = await createDatabase()
  const role = `importer_${database.name}`
  const server = `server_${database.name}`
  await database.query(`
    create role ${role} nologin;
    create role ${server} login noinherit password 'server';
    grant ${role} to ${server};
    revoke temporary on database ${database.name} from public;
    grant temporary on database ${database.name} to ${server};
    create table public.parents (id int primary key);
    insert into public.parents values (1), (2);
    create table public.items (
      id int primary key,
      name text not null,
      price numeric default 7 check (price >= 0),
      parent int references public.parents,
      tags jsonb
    );
    create table public.numbered (id int generated always as identity primary key, name text unique);
    create table public.notes (id int primary key, owner text not null, text text);
    alter table public.notes enable row level security;
    create policy own on public.notes using (owner = current_setting('request.jwt.claims')::json ->> 'sub')
      with check (owner = current_setting('request.jwt.claims')::json ->> 'sub');
    create table public.trees (id int primary key, parent int references public.trees);
    create table public.later (id int primary key, parent int references public.parents deferrable initially deferred);
    create table public.closed (id int);
    create table public.partial (id int, secret text);
    create view public.labels as select id, upper(name) as label from public.items;
    create function public.add_label() returns trigger language plpgsql as $$
    begin
      if new.label = 'BAD' then raise exception 'a bad label' using detail = 'It is bad.', hint = 'Use a good one.'; end if;
      insert into public.items (id, name) values (new.id, lower(new.label));
      return new;
    end $$;
    create trigger add_label instead of insert on public.labels for each row execute function public.add_label();
    create table public."$odd" ("a b" text, "quote""d" text, "ü" int);
    grant all on public.items, public.numbered, public.notes, public.trees, public.later, public.labels, public.parents,
      public."$odd" to ${role};
    grant insert (id) on public.partial to ${role};`)
  t.teardown(async () => {
    await database.query(`drop owned by ${role}, ${server}; drop role ${role}, ${server}`)
    await database.drop()
  })
  return { ...database, role, serverUri: database.uri(server, 'server') }
}

export type ImportApi = {
  readonly url: string
  readonly rest: Rest
  readonly events: ImportEvent[]
}

/** Starts the API. The header `X-User` becomes the claim `sub`. */
export async function startImportApi(
  t: Pick<Test, 'teardown'>,
  { serverUri, role }: Pick<ImportDatabase, 'serverUri' | 'role'>,
  settings: RestOptionSettings = {},
  validator: BodyValidator = { forTable: () => undefined },
): Promise<ImportApi> {
  const database = connect(serverUri, { dbPool: 3 })
  const events: ImportEvent[] = []
  const rest = await createRest({
    database,
    schemas: ['public'],
    identify: (request) => ({ role, claims: { sub: request.header('x-user') ?? null } }),
    settings: { dbTxEnd: 'commit-allow-override', ...settings },
    validator,
    onImport: (event) => events.push(event),
  })
  t.teardown(async () => {
    await rest.close()
    await database.close()
  })
  return { url: await listen(t, nodeHandler(rest)), rest, events }
}

export type ImportAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

const changing = new Set(['date', 'connection', 'keep-alive', 'server'])

export type ImportContent = string | ReadableStream<Uint8Array>

export async function send(
  url: string,
  path: string,
  type: string,
  body: ImportContent,
  headers: Readonly<Record<string, string>> = {},
): Promise<ImportAnswer> {
  const isStream = body instanceof ReadableStream
  const init = {
    method: 'POST',
    headers: { 'Content-Type': type, ...headers },
    body,
    ...(isStream ? { duplex: 'half' as const } : {}),
  }
  const response = await fetch(url + path, init)
  const text = await response.text()
  return {
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => !changing.has(name))),
    body: text === '' ? '' : (JSON.parse(text) as unknown),
  }
}

export const ndjson = 'application/x-ndjson'

/** The body as a stream of pieces of that many bytes, without a declared length. */
export function inPieces(body: string | Uint8Array, size: number): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(body)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close()
      else controller.enqueue(bytes.subarray(at, (at += size)))
    },
  })
}
