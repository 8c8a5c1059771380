// `migrate` on a database of your own: afterwards the serving role can connect, or the output says how to enable it.
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { scramVerifier } from '../../../server/postgres/scram-verifier.ts'
import { describeLogin, migrateForServing, type Serving } from '../../../server/postgres/serving-login.ts'
import { servingFrom } from '../../../server/running/connection-setting.ts'
import { startEmbedded } from '../../../server/postgres/embedded/embedded.ts'

t.test("the SCRAM verifier of a password (RFC 7677, with PostgreSQL's salt and iteration count)", async (t) => {
  const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64')
  const salted = pbkdf2Sync('pencil', salt, 4096, 32, 'sha256')
  const key = (text: string): Buffer => createHmac('sha256', salted).update(text).digest()
  const stored = createHash('sha256').update(key('Client Key')).digest('base64')
  t.equal(
    await scramVerifier('pencil', salt),
    `SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$${stored}:${key('Server Key').toString('base64')}`,
  )
  t.equal(stored, 'WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=', 'the example of RFC 7677')
  t.not(await scramVerifier('pencil'), await scramVerifier('pencil'), 'each has a new salt')
})

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-login-'))
const cluster = await startEmbedded({ dataDir: join(folder, 'data'), log: () => undefined })
t.teardown(async () => {
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
})

const uri = (role: string, password: string | null, database: string): string =>
  `postgresql://${role}${password === null ? '' : `:${encodeURIComponent(password)}`}@127.0.0.1:${cluster.port}/${database}`

async function withClient<T>(connection: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: connection })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const asSuperuser = (text: string, database = 'postgres'): Promise<unknown> =>
  withClient(cluster.adminUri.replace(/[^/]*$/, database), (client) => client.query(text))

/** A cluster without this program's roles, and an empty database that belongs to `owner`. */
async function freshDatabase(name: string, owner: string): Promise<void> {
  await asSuperuser(`create database ${name} owner ${owner}`)
}

async function forgetRoles(databases: readonly string[]): Promise<void> {
  for (const database of databases) await asSuperuser(`drop database if exists ${database} with (force)`)
  await asSuperuser(
    'drop role if exists authenticator, anon, authenticated, service_role, supabase_auth_admin, ' +
      'supabase_realtime_admin, supabase_storage_admin',
  )
}

const user = async (connection: string): Promise<unknown> =>
  withClient(
    connection,
    async (client) => (await client.query<{ name: string }>('select current_user as name')).rows[0],
  )

const serving = (uri: string | null): Serving => servingFrom(uri, uri === null ? {} : { DATABASE_URL: uri })

await forgetRoles([])
await asSuperuser(`create role builder login createrole password 'builder'`)

// The second password has characters that URLs and SQL escape, and letters that SASLprep normalizes.
for (const [owner, ownerPassword] of [
  ['postgres', cluster.secrets.superuserPassword],
  ['builder', 'builder'],
] as const) {
  t.test(`as ${owner}: the serving role gets the password of the serving connection string`, async (t) => {
    await freshDatabase('own', owner)
    t.teardown(() => forgetRoles(['own']))
    const migrate = (to: Serving) =>
      withClient(uri(owner, ownerPassword, 'own'), (client) => migrateForServing(client, to))
    const first = uri('authenticator', `it's "100 %" ﬁne: é\u00a0soft\u00adhyphen e\u0301\u200d`, 'own')

    const done = await migrate(serving(first))
    t.ok(done.applied.length > 0)
    t.strictSame(done.login, { kind: 'password set', role: 'authenticator' })
    t.strictSame(await user(first), { name: 'authenticator' })
    t.strictSame(await migrate(serving(first)), { applied: [], login: { kind: 'works' } }, 'once')

    const wrong = await migrate(serving(uri('authenticator', 'hunter2', 'own')))
    t.match(wrong.login, {
      kind: 'refused',
      advice: `The role authenticator cannot sign in with the password in DATABASE_URL. A superuser can set it: alter role "authenticator" password '…';`,
    })
    t.strictSame(await user(first), { name: 'authenticator' }, 'an existing password is never changed')
    t.notMatch(JSON.stringify(wrong), /hunter2/)
  })
}

t.test('the remaining steps are printed', async (t) => {
  await freshDatabase('own', 'postgres')
  await asSuperuser(`create role stranger login; create role other login password 'other';
    create role chief superuser login; create role keeper createrole login`)
  t.teardown(async () => {
    await asSuperuser('drop role stranger, other, chief, keeper')
    await forgetRoles(['own'])
  })
  const rows: readonly (readonly [string, string | null, string | RegExp])[] = [
    [
      'no setting names the role that serves',
      null,
      `The role authenticator has no password yet. Run this again with DATABASE_URL set, or set one: alter role "authenticator" password '…';`,
    ],
    [
      'no password',
      uri('authenticator', null, 'own'),
      'DATABASE_URL has no password for the role authenticator, but the server asks for one.',
    ],
    [
      'no such role',
      uri('nobody', 'x', 'own'),
      'DATABASE_URL names the role nobody, which does not exist. The migrations create the role authenticator for it.',
    ],
    [
      'no such database',
      uri('other', 'other', 'elsewhere'),
      'The connection in DATABASE_URL does not work: database "elsewhere" does not exist',
    ],
    ['another role without a password gets one', uri('stranger', 's', 'own'), /^Set the password of the role stranger/],
    ...['chief', 'keeper'].map(
      (role) =>
        [
          `a role that manages the cluster gets no password: ${role}`,
          uri(role, 'c', 'own'),
          `The role ${role} cannot sign in with the password in DATABASE_URL. A superuser can set it: alter role "${role}" password '…';`,
        ] as const,
    ),
    ['another role with a password', uri('other', 'other', 'own'), ''],
  ]
  for (const [what, connection, expected] of rows) {
    const to = serving(connection)
    const { login } = await withClient(cluster.adminUri.replace(/[^/]*$/, 'own'), (client) =>
      migrateForServing(client, to),
    )
    const said = describeLogin(login, to.setting).join('\n')
    if (typeof expected === 'string') t.equal(said, expected, what)
    else t.match(said, expected, what)
  }
  const { rows: left } = await withClient(cluster.adminUri, (client) =>
    client.query(
      "select rolname from pg_authid where rolname in ('chief', 'keeper', 'stranger') and rolpassword is null order by 1",
    ),
  )
  t.strictSame(left, [{ rolname: 'chief' }, { rolname: 'keeper' }])
})

t.test('messages name the setting as the user wrote it', async (t) => {
  const given = 'postgres://a@b/c'
  t.equal(servingFrom(given, { PGRST_DB_URI: given }).setting, 'PGRST_DB_URI')
  t.equal(servingFrom(given, { DATABASE_URL: given }).setting, 'DATABASE_URL')
  t.equal(servingFrom(given, {}).setting, 'db-uri')
  t.equal(servingFrom(null, { DATABASE_URL: '' }).setting, 'DATABASE_URL')
})
