// Adapters by which other frameworks keep their data here: files of Directus, and accounts of Auth.js.
import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

type Upload = { readonly size: number; readonly metadata: Record<string, string> }

/** What this file uses of Directus's interface of storage drivers. */
type Driver = {
  readonly write: (path: string, content: Readable, type?: string) => Promise<void>
  readonly read: (path: string, options?: { range: { start?: number; end?: number } }) => Promise<Readable>
  readonly stat: (path: string) => Promise<{ readonly size: number; readonly modified: Date }>
  readonly exists: (path: string) => Promise<boolean>
  readonly move: (from: string, to: string) => Promise<void>
  readonly copy: (from: string, to: string) => Promise<void>
  readonly delete: (path: string) => Promise<void>
  readonly list: (prefix?: string) => AsyncIterable<string>
  readonly createChunkedUpload: (path: string, context: Upload) => Promise<Upload>
  readonly writeChunk: (path: string, content: Readable, offset: number, context: Upload) => Promise<number>
}

type Row = Readonly<Record<string, unknown>>
type Method = (...args: readonly unknown[]) => Promise<Row | null>
type Adapter = Readonly<
  Record<
    | 'createUser'
    | 'getUser'
    | 'getUserByEmail'
    | 'getUserByAccount'
    | 'updateUser'
    | 'deleteUser'
    | 'linkAccount'
    | 'unlinkAccount'
    | 'createSession'
    | 'getSessionAndUser'
    | 'updateSession'
    | 'deleteSession'
    | 'createVerificationToken'
    | 'useVerificationToken',
    Method
  >
>

/** A stream as of a request: its end arrives after its last bytes. */
const body = (bytes: Buffer): Readable =>
  Readable.from(
    (async function* () {
      yield bytes
      await pause(50)
    })(),
    { objectMode: false },
  )

// The tables that the documentation of Auth.js describes.
const sql = `
  create schema next_auth;
  grant usage on schema next_auth to service_role;
  create table next_auth.users (
    id uuid primary key default gen_random_uuid(), name text, email text unique, "emailVerified" timestamptz, image text);
  create table next_auth.sessions (
    id uuid primary key default gen_random_uuid(), expires timestamptz not null, "sessionToken" text not null unique,
    "userId" uuid references next_auth.users (id) on delete cascade);
  create table next_auth.accounts (
    id uuid primary key default gen_random_uuid(), type text not null, provider text not null,
    "providerAccountId" text not null, refresh_token text, access_token text, expires_at bigint, token_type text,
    scope text, id_token text, session_state text, oauth_token_secret text, oauth_token text,
    "userId" uuid references next_auth.users (id) on delete cascade, unique (provider, "providerAccountId"));
  create table next_auth.verification_tokens (
    identifier text, token text primary key, expires timestamptz not null);
  grant all on all tables in schema next_auth to service_role;`

const server = await startServer(t, { sql, env: { PGRST_DB_SCHEMAS: 'public,next_auth' } })

const files = 'streams, ranges, lists of nested folders, copies, moves, uploads in parts'
await scenario(t, '@directus/storage-driver-supabase', files, async (t, { load }) => {
  const { default: Driver } = await load<{ readonly default: new (config: unknown) => Driver }>(
    '@directus/storage-driver-supabase',
  )
  const made = await fetch(`${server.url}/storage/v1/bucket`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${server.secretKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'directus' }),
  })
  t.equal(made.status, 200)
  const driver = new Driver({
    ...{ bucket: 'directus', root: 'files', endpoint: `${server.url}/storage/v1`, serviceRole: server.secretKey },
    tus: { chunkSize: 6 * 2 ** 20 },
  })
  const content = 'Lakes and rivers'
  await driver.write('a b/ünïcode.txt', Readable.from([Buffer.from(content)]), 'text/plain')
  t.equal(await text(await driver.read('a b/ünïcode.txt')), content)
  t.equal(await text(await driver.read('a b/ünïcode.txt', { range: { start: 6, end: 8 } })), 'and')
  t.equal(await text(await driver.read('a b/ünïcode.txt', { range: { start: 10 } })), 'rivers')
  const { size, modified } = await driver.stat('a b/ünïcode.txt')
  t.equal(size, content.length)
  t.ok(Math.abs(Date.now() - modified.getTime()) < 60_000)
  t.strictSame([await driver.exists('a b/ünïcode.txt'), await driver.exists('missing.txt')], [true, false])
  await driver.write('a b/ünïcode.txt', Readable.from([Buffer.from('Changed')]), 'text/plain')
  await driver.copy('a b/ünïcode.txt', 'copy.txt')
  await driver.move('copy.txt', 'deep/er/moved.txt')
  t.equal(await text(await driver.read('deep/er/moved.txt')), 'Changed')
  await t.rejects(driver.read('missing.txt'), /No stream returned/)
  for (let n = 0; n < 5; n++)
    await driver.write(`many/${n}.bin`, Readable.from([randomBytes(10)]), 'application/octet-stream')
  const list = async (prefix?: string): Promise<readonly string[]> => {
    const found = []
    for await (const path of driver.list(prefix)) found.push(path)
    return found.sort()
  }
  t.strictSame(
    await list('many/'),
    [0, 1, 2, 3, 4].map((n) => `many/${n}.bin`),
  )
  t.strictSame(await list('many/3'), ['many/3.bin'])
  t.strictSame((await list('deep/')).concat(await list('a b/')), ['deep/er/moved.txt', 'a b/ünïcode.txt'])

  const large = randomBytes(14 * 2 ** 20)
  const context = await driver.createChunkedUpload('large.bin', {
    size: large.length,
    metadata: { type: 'application/octet-stream', creation_date: new Date().toISOString() },
  })
  const part = 6 * 2 ** 20
  for (let offset = 0; offset < large.length;)
    offset = await driver.writeChunk('large.bin', body(large.subarray(offset, offset + part)), offset, context)
  const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
  t.equal(hash(await buffer(await driver.read('large.bin'))), hash(large), 'an upload in three parts')
  for (const path of ['large.bin', 'a b/ünïcode.txt']) await driver.delete(path)
  t.notOk(await driver.exists('large.bin'))
  return undefined
})

const accounts = 'all of its methods: users, accounts at providers, sessions, tokens of mails, in a schema of its own'
await scenario(t, '@auth/supabase-adapter', accounts, async (t, { load }) => {
  const { SupabaseAdapter } = await load<{
    readonly SupabaseAdapter: (options: { url: string; secret: string }) => Adapter
  }>('@auth/supabase-adapter')
  const adapter = SupabaseAdapter({ url: server.url, secret: server.secretKey })
  const emailVerified = new Date('2026-01-01T10:00:00Z')
  const user = await adapter.createUser({ email: `ann+o'hara@example.org`, name: 'Ann "A, (b)"', emailVerified })
  t.match(user, { email: `ann+o'hara@example.org`, emailVerified })
  await t.rejects(adapter.createUser({ email: `ann+o'hara@example.org`, emailVerified: null }), { code: '23505' })
  t.match(await adapter.getUser(user?.id), { name: 'Ann "A, (b)"' })
  t.match(await adapter.getUserByEmail(`ann+o'hara@example.org`), { id: user?.id })
  t.equal(await adapter.getUserByEmail('bob@example.org'), null)
  t.match(await adapter.updateUser({ id: user?.id, name: 'Ann' }), { name: 'Ann', emailVerified })
  const account = { provider: 'github', providerAccountId: '1,2.3', type: 'oauth', expires_at: 1_900_000_000 }
  await adapter.linkAccount({ ...account, userId: user?.id, access_token: 'x'.repeat(4000) })
  t.match(await adapter.getUserByAccount(account), { id: user?.id })
  const expires = new Date(Date.now() + 86_400_000)
  t.match(await adapter.createSession({ sessionToken: 'se"ss,ion', userId: user?.id, expires }), { expires })
  t.match(await adapter.getSessionAndUser('se"ss,ion'), {
    user: { id: user?.id },
    session: { userId: user?.id, expires },
  })
  const later = new Date(Date.now() + 2 * 86_400_000)
  t.match(await adapter.updateSession({ sessionToken: 'se"ss,ion', expires: later }), { expires: later })
  await adapter.deleteSession('se"ss,ion')
  t.equal(await adapter.getSessionAndUser('se"ss,ion'), null)
  await adapter.createVerificationToken({ identifier: 'ann@example.org', token: 'abc', expires })
  t.match(await adapter.useVerificationToken({ identifier: 'ann@example.org', token: 'abc' }), {
    token: 'abc',
    expires,
  })
  t.equal(await adapter.useVerificationToken({ identifier: 'ann@example.org', token: 'abc' }), null, 'used once')
  await adapter.unlinkAccount(account)
  t.equal(await adapter.getUserByAccount(account), null)
  await adapter.deleteUser(user?.id)
  t.equal(await adapter.getUser(user?.id), null)
  const visitor = SupabaseAdapter({ url: server.url, secret: server.publishableKey })
  await t.rejects(visitor.getUserByEmail('ann@example.org'), { code: '42501' }, 'the key for pages sees none of it')
  return undefined
})
