import { createHash } from 'node:crypto'
import t from 'tap'
import { createPool } from '../../server/postgres/pool.ts'
import { Database } from '../../server/postgres/database.ts'
import { type RunQuery } from '../../server/postgres/run-query.ts'
import { ApiKeyChanges } from '../../server/identity/api-key/api-key-changes.ts'
import { lastingIdentity, type Identity } from '../../server/identity/identity.ts'
import { createApiKeyLookup, type LookupSettings } from '../../server/identity/api-key/api-key-lookup.ts'
import {
  createApiKey,
  isApiKey,
  isWellFormed,
  listApiKeys,
  makeApiKey,
  revokeApiKey,
  type NewApiKey,
} from '../../server/identity/api-key/api-key.ts'
import { createDatabase, createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
const pool = createPool(
  { connectionString: database.authenticatorUri },
  { dbPool: 3, dbPoolAcquisitionTimeout: 5, dbPoolMaxIdletime: 30, dbPoolMaxLifetime: 1800 },
)
t.teardown(async () => {
  await pool.end()
  await database.drop()
})
const { query } = new Database(pool)
const create = (wanted: NewApiKey) => withClient(database.adminUri, (client) => createApiKey(client, wanted))
const revoke = (id: string) => withClient(database.adminUri, (client) => revokeApiKey(client, id))
const ann = '00000000-0000-4000-8000-00000000000a'
await database.query(
  "insert into auth.users (id, email, email_confirmed_at, encrypted_password) values ($1, 'ann@example.org', now(), 'x')",
  [ann],
)

/** A lookup with a clock of its own that counts its queries to the database. */
function lookupWith(settings: Partial<LookupSettings> = {}) {
  let asked = 0
  let time = Date.now()
  const counting: RunQuery = (text, values) => {
    asked++
    return query(text, values)
  }
  const changes = new ApiKeyChanges()
  changes.setListening(true)
  const find = createApiKeyLookup({ query: counting, changes, now: () => time, ...settings })
  return { find: async (key: string) => find(key), asked: () => asked, wait: (ms: number) => (time += ms) }
}

const invalid = { problem: 'invalid token', message: 'The API key is unknown, expired or revoked' }

t.test('the format of keys is checked', async (t) => {
  const key = makeApiKey('secret')
  t.match(key, /^sb_secret_[\w-]{49}$/)
  t.match(makeApiKey('publishable'), /^sb_publishable_[\w-]{49}$/)
  t.not(makeApiKey('secret'), makeApiKey('secret'))
  const rows: readonly (readonly [text: string, isKey: boolean, wellFormed: boolean])[] = [
    [key, true, true],
    [key.replace('secret', 'publishable'), true, true],
    [key.slice(0, -1), true, false],
    [`${key}A`, true, false],
    [`${key}\n`, true, false],
    [key.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')), true, false],
    ['sb_secret_', true, false],
    [`sb_secret_${'x'.repeat(100_000)}`, true, false],
    [key.replace('sb_', 'SB_'), false, false],
    ['sb_other_x', false, false],
    ['eyJhbGciOiJIUzI1NiJ9.e30.x', false, false],
    ['', false, false],
  ]
  for (const [text, isKey, wellFormed] of rows) {
    t.strictSame([isApiKey(text), isWellFormed(text)], [isKey, wellFormed], text.slice(0, 80))
  }
})

t.test('keys can be created', async (t) => {
  const made = await create({ role: 'service_role', label: 'backup' })
  t.match(made, {
    hint: /^sb_secret_.{4}$/,
    label: 'backup',
    role: 'service_role',
    userId: null,
    expiresAt: null,
    revokedAt: null,
  })
  t.ok(made.key.startsWith(made.hint) && made.key.length > made.hint.length + 40)
  t.match((await create({ role: 'anon', label: 'web page' })).key, /^sb_publishable_/)
  t.match((await create({ role: 'authenticated', label: 'Ann', userId: ann })).key, /^sb_secret_/)

  const { rows } = await database.query('select jsonb_agg(k)::text as everything from auth.api_keys k')
  const everything = String(rows[0]?.everything)
  t.ok(everything.includes(createHash('sha256').update(made.key).digest('hex')), 'the hash is stored')
  t.notOk(everything.includes(made.key.slice(20)), 'the key is not')

  const wrong: readonly (readonly [NewApiKey, RegExp])[] = [
    [{ role: 'nobody', label: 'x' }, /no role nobody/],
    [{ role: 'postgres', label: 'x' }, /cannot switch to the role postgres/],
    [{ role: 'authenticator', label: 'x' }, /cannot switch to the role authenticator/],
    [{ role: "x'; --", label: 'x' }, /no role x'; --/],
    [{ role: 'service_role', userId: ann, label: 'x' }, /must have the role authenticated/],
    [{ role: 'authenticated', userId: 'ann', label: 'x' }, /no user ann/],
    [{ role: 'authenticated', userId: ann.replace('a', 'b'), label: 'x' }, /no user/],
    [{ role: 'anon', label: '' }, /label/],
    [{ role: 'anon', label: 'x'.repeat(201) }, /label/],
    [{ role: 'anon', label: 'x', expiresAt: new Date(0) }, /future/],
    [{ role: 'anon', label: 'x', expiresAt: new Date(NaN) }, /future/],
  ]
  for (const [wanted, message] of wrong) await t.rejects(create(wanted), { message })
})

t.test('keys can be listed and revoked', async (t) => {
  const { id, key, ...made } = await create({ role: 'anon', label: 'listed', expiresAt: new Date('2100-01-01') })
  const list = () => withClient(database.adminUri, listApiKeys)
  t.strictSame((await list())[0], { id, ...made })
  t.notOk(JSON.stringify(await list()).includes(key))
  t.equal(await revoke(id.toUpperCase()), true)
  t.equal(await revoke(id), false, 'once')
  t.equal(await revoke('nonsense'), false)
  t.ok((await list())[0]?.revokedAt instanceof Date)
})

t.test('a key stands for its role and user', async (t) => {
  const { find } = lookupWith()
  const rows: readonly (readonly [NewApiKey, Identity])[] = [
    [
      { role: 'anon', label: 'x' },
      { role: 'anon', claims: {} },
    ],
    [
      { role: 'service_role', label: 'x' },
      { role: 'service_role', claims: {} },
    ],
    [
      { role: 'authenticated', label: 'x' },
      { role: 'authenticated', claims: {} },
    ],
    [
      { role: 'authenticated', label: 'x', userId: ann },
      { role: 'authenticated', claims: { sub: ann, email: 'ann@example.org' } },
    ],
  ]
  for (const [wanted, { role, claims }] of rows) {
    t.strictSame(await find((await create(wanted)).key), lastingIdentity(role, claims))
  }
})

t.test('unknown, revoked and expired keys are refused', async (t) => {
  const { find, asked } = lookupWith()
  await t.rejects(find('sb_secret_x'), invalid)
  await t.rejects(find(''), invalid)
  t.equal(asked(), 0, 'a malformed key is not looked up')
  await t.rejects(find(makeApiKey('secret')), invalid, 'unknown')
  const revoked = await create({ role: 'anon', label: 'x' })
  await revoke(revoked.id)
  await t.rejects(find(revoked.key), invalid, 'revoked')
  const expired = await create({ role: 'anon', label: 'x', expiresAt: new Date(Date.now() + 60_000) })
  await database.query('update auth.api_keys set expires_at = now() where id = $1', [expired.id])
  await t.rejects(find(expired.key), invalid, 'expired')
  const { key } = await create({ role: 'anon', label: 'x' })
  await t.rejects(find(key.replace('publishable', 'secret')), invalid, 'keys are compared completely')
})

t.test('keys are cached for a limited time', async (t) => {
  const { find, asked, wait } = lookupWith()
  const { id, key } = await create({ role: 'anon', label: 'x' })
  await Promise.all(Array.from({ length: 20 }, () => find(key)))
  t.equal(asked(), 1, 'one query for concurrent requests')
  wait(29_999)
  await find(key)
  t.equal(asked(), 1)
  await revoke(id)
  await find(key)
  t.equal(asked(), 1, 'without a notification, the cached key is still valid')
  wait(1)
  await t.rejects(find(key), invalid, 'and refused after the cache entry has expired')
  t.equal(asked(), 2)
  wait(4_999)
  await t.rejects(find(key), invalid)
  t.equal(asked(), 2, 'unknown keys are cached, too')
  wait(1)
  await t.rejects(find(key), invalid)
  t.equal(asked(), 3)
})

t.test('a key is not cached beyond its expiry', async (t) => {
  const { find, asked, wait } = lookupWith()
  const { key } = await create({ role: 'anon', label: 'x', expiresAt: new Date(Date.now() + 20_000) })
  await find(key)
  wait(15_000)
  await find(key)
  t.equal(asked(), 1)
  wait(6_000)
  await find(key)
  t.equal(asked(), 2, 'the database is queried, whose clock decides')
})

t.test('the cache is bounded, and unknown keys do not evict valid ones', async (t) => {
  const { find, asked } = lookupWith({ capacity: 2 })
  const keys = await Promise.all([1, 2, 3].map(async () => (await create({ role: 'anon', label: 'x' })).key))
  const [one = '', two = '', three = ''] = keys
  await find(one)
  await find(two)
  for (let n = 0; n < 5; n++) await t.rejects(find(makeApiKey('secret')), invalid)
  await find(one)
  await find(two)
  t.equal(asked(), 7)
  await find(three)
  await find(two)
  t.equal(asked(), 8)
  await find(one)
  t.equal(asked(), 9, 'the oldest entry was evicted')
})

t.test('a database error is passed on and not cached', async (t) => {
  let broken = true
  const { find } = lookupWith({
    query: (text, values) => (broken ? Promise.reject(new Error('no connection')) : query(text, values)),
  })
  const { key } = await create({ role: 'anon', label: 'x' })
  await t.rejects(find(key), { message: 'no connection' })
  broken = false
  t.strictSame(await find(key), lastingIdentity('anon', {}))
})

t.test('without the migrations, every key is unknown', async (t) => {
  const empty = await createDatabase()
  t.teardown(empty.drop)
  const { find } = lookupWith({
    query: (text, values) =>
      withClient(empty.adminUri, async (client) => (await client.query(text, values)).rows as never),
  })
  await t.rejects(find(makeApiKey('secret')), invalid)
})

t.test('a cached key is returned without a query', async (t) => {
  const find = createApiKeyLookup({ query })
  const { key } = await create({ role: 'anon', label: 'x' })
  await find(key)
  t.strictSame(find(key), lastingIdentity('anon', {}), 'synchronously')
})

t.test('deleting a user deletes their keys', async (t) => {
  const id = '00000000-0000-4000-8000-00000000000c'
  await database.query("insert into auth.users (id, email, encrypted_password) values ($1, 'c@example.org', 'x')", [id])
  const { key } = await create({ role: 'authenticated', label: 'x', userId: id })
  await database.query('delete from auth.users where id = $1', [id])
  await t.rejects(lookupWith().find(key), invalid)
})
