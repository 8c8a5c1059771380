// Statements of people's migrations and dumps about pg_net and pg_cron, whose functions this server provides.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { restoreDatabase } from '../../server/tools/database-access/restore.ts'
import { applyMigrations } from '../../server/tools/migrations/apply.ts'
import { createDatabase, createMigratedDatabase, withClient } from '../support/database.ts'

const leftOut = (extension: string): string =>
  `${extension} is not installed: the server provides its functions, and leaves this statement out`

t.test('migrations create the extensions, and use their functions', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-extensions-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await writeFile(
    join(folder, '1_extensions.sql'),
    `-- A comment
     create extension if not exists pg_net;
     CREATE EXTENSION IF NOT EXISTS "pg_net" WITH SCHEMA "extensions";
     create extension pg_cron with schema pg_catalog;
     comment on extension pg_net is 'Async HTTP';
     drop extension if exists pg_net;
     alter extension pg_net set schema public;
     create extension pg_net schema extensions;
     create extension if not exists citext;
     do $$ begin perform net.http_get('https://example.com/'); end $$;`,
  )
  const notices: string[] = []
  await withClient(database.adminUri, (client) =>
    applyMigrations(client, folder, { onNotice: (message) => notices.push(message) }),
  )
  t.strictSame(
    notices.filter((message) => message.includes('provides')),
    [...Array<string>(2).fill(leftOut('pg_net')), leftOut('pg_cron'), ...Array<string>(4).fill(leftOut('pg_net'))],
  )
  const { rows } = await database.query(
    "select extname::text as name from pg_extension where extname in ('citext', 'pg_net', 'pg_cron')",
  )
  t.strictSame(rows, [{ name: 'citext' }], 'others are created')
  t.equal((await database.query("select from rowhouse.calls where url = 'https://example.com/'")).rowCount, 1)
})

t.test('without the functions, the statement fails as always', async (t) => {
  const database = await createDatabase()
  t.teardown(() => database.drop())
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-extensions-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, '1_extensions.sql'), 'create extension pg_net')
  await t.rejects(
    withClient(database.adminUri, (client) => applyMigrations(client, folder, {})),
    { message: /pg_net/ },
  )
})

t.test('a dump of Supabase can be restored', async (t) => {
  const database = await createDatabase()
  t.teardown(() => database.drop())
  const dump = `--
-- PostgreSQL database dump
--
CREATE SCHEMA extensions;
CREATE EXTENSION IF NOT EXISTS "pg_net" WITH SCHEMA "extensions";
COMMENT ON EXTENSION "pg_net" IS 'Async HTTP';
CREATE TABLE public.orders (id integer);
--
-- PostgreSQL database dump complete
--
`
  const notices: string[] = []
  const counts = await withClient(database.adminUri, (client) =>
    restoreDatabase(client, {
      input: (async function* () {
        yield await Promise.resolve(Buffer.from(dump))
      })(),
      file: 'dump.sql',
      replace: false,
      onNotice: (message) => notices.push(message),
    }),
  )
  t.equal(counts.statements, 2)
  t.match(notices, [/^pg_net is not available/, /^pg_net is not available/])
})
