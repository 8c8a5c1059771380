// What webhooks of a table cost: `node --import=tsx tests/bench/webhook-cost.ts [rounds]`. Runs by hand. Compares the same
// statements on tables with webhooks and on one without, in turn, on an embedded database of its own, and prints medians; of one row
// also the least CPU time of the database's process, which a busy machine changes little (on Linux).
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../../server/postgres/embedded/embedded.ts'
import { migrate } from '../../server/postgres/migrate.ts'
import { webhookMigration } from '../../server/tools/webhooks/webhook-sql.ts'

const rounds = Number(process.argv[2] ?? 7)
const transactions = 500
/** Few at a time, so that some are undisturbed. */
const transactionsOfSample = 20
const bulkRows = 20_000

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-webhooks-'))
await chmod(folder, 0o711)
const embedded = await startEmbedded({ dataDir: join(folder, 'data'), log: () => undefined })
const client = new pg.Client(embedded.adminUri)
await client.connect()

const names = ['plain', 'webhook', 'with_key', 'with_condition', 'supabase'] as const
const table = (
  name: string,
): string => `create table public.${name} (id bigint generated always as identity primary key,
  user_id uuid not null default gen_random_uuid(), title text not null, place text, done boolean not null default false,
  created_at timestamptz not null default now()); create index on public.${name} (user_id, created_at);`

const claims = { role: 'authenticated', sub: '8b0c8a2e-8a3c-4a57-9c1c-2f1d6c2ad7a1', email: 'anna@example.org' }
const headers = { host: 'example.org', 'user-agent': 'bench', 'x-request-id': 'abc-123', accept: '*/*' }
const settings = `select set_config('request.jwt.claims', '${JSON.stringify(claims)}', true),
  set_config('request.headers', '${JSON.stringify(headers)}', true);`

/** Milliseconds of one transaction with one row, as a request makes it: one round trip. */
async function single(name: string, count = transactions): Promise<number> {
  const start = performance.now()
  for (let index = 0; index < count; index++) {
    await client.query(`${settings} insert into public.${name} (title, place) values ('Water the plants', 'Lake')`)
  }
  return (performance.now() - start) / count
}

const { rows: sessions } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')

/** Microseconds of CPU that the session of the client has used; undefined where the system does not say. */
async function usedTime(): Promise<number | undefined> {
  const text = await readFile(`/proc/${sessions[0]?.pid}/schedstat`, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Number(text.split(' ')[0]) / 1000
}

/** Microseconds of CPU of one transaction with one row. */
async function usedBySingle(name: string): Promise<number> {
  const before = await usedTime()
  await single(name, transactionsOfSample)
  return ((await usedTime()) ?? NaN) - (before ?? NaN)
}

/** Milliseconds of a statement with many rows. */
async function bulk(name: string): Promise<number> {
  const start = performance.now()
  await client.query(
    `insert into public.${name} (title, place) select 'Water the plants', 'Lake' from generate_series(1, ${bulkRows})`,
  )
  return performance.now() - start
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

try {
  await migrate(client)
  for (const name of names) await client.query(table(name))
  const wish = { name: 'hook', events: ['insert'], url: 'https://example.com/hook', secret: 'hook' } as const
  for (const [name, more] of [
    ['webhook', {}],
    ['with_key', { key: ['id'] }],
    ['with_condition', { when: "new.title <> ''" }],
  ] as const) {
    await client.query(webhookMigration({ schema: 'public', name }, { ...wish, ...more }))
  }
  await client.query(`create trigger hook after insert on public.supabase for each row
    execute function supabase_functions.http_request('https://example.com/hook', 'POST', '{}', '{}', '1000')`)
  const used = new Map(names.map((name) => [name, Infinity]))
  for (let round = 0; round < 10 * rounds; round++) {
    for (const name of names) used.set(name, Math.min(used.get(name) ?? Infinity, await usedBySingle(name)))
  }
  for (const [name, time] of used) {
    const each = time / transactionsOfSample
    const more = each - (used.get('plain') ?? NaN) / transactionsOfSample
    console.log(`one row, ${name}: ${each.toFixed(0)} µs of CPU, ${more.toFixed(0)} more`)
  }
  for (const [title, measure] of [
    ['one row', single],
    [`${bulkRows} rows`, bulk],
  ] as const) {
    // prettier-ignore
    const times = new Map<string, number[]>(names.map((name) => [name, []]))
    for (const name of names) await measure(name)
    for (let round = 0; round < rounds; round++) for (const name of names) times.get(name)?.push(await measure(name))
    const base = median(times.get('plain') ?? [])
    for (const [name, values] of times) {
      console.log(`${title}, ${name}: ${median(values).toFixed(3)} ms, ${(median(values) / base).toFixed(2)}`)
    }
  }
} finally {
  await client.end()
  await embedded.stop()
  await rm(folder, { recursive: true, force: true })
}
