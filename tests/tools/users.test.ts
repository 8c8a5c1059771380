// `rowhouse users`, on a database that a server serves at the same time.
import { PassThrough } from 'node:stream'
import t from 'tap'
import { loadConfig } from '../../server/config/load.ts'
import type { Dependencies } from '../../server/tools/command-line/dependencies.ts'
import { runProgram } from '../../server/tools/command-line/program.ts'
import { withUsers } from '../../server/tools/users/with-users.ts'
import { startApplication } from '../support/application.ts'
import { askAuth, passwordGrant, refreshGrant, sessionOf } from '../support/auth.ts'
import { createDatabase, createMigratedDatabase } from '../support/database.ts'
import { register, signInWith } from '../support/passkey.ts'
import { SoftAuthenticator } from '../support/soft-authenticator.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const env = {
  DATABASE_URL: database.authenticatorUri,
  GOTRUE_PASSWORD_MIN_LENGTH: '8',
  GOTRUE_PASSKEY_ENABLED: 'true',
  GOTRUE_SITE_URL: 'https://shop.example',
  GOTRUE_PASSWORD_REQUIRED_CHARACTERS: 'abcdefghijklmnopqrstuvwxyz:0123456789:!?',
}
const { url } = await startApplication(t, database.authenticatorUri, env)
const ask = askAuth(url)
const strong = 'correct horse 1!'

const opened =
  (uri: string): Dependencies['withUsers'] =>
  (config, use) =>
    withUsers(config, { uri, env: {} }, use)

type Ran = { readonly code: number; readonly out: string; readonly err: string }

/** Runs `rowhouse users` with text on standard input. */
async function users(args: readonly string[], input: string | Buffer = '', uri = env.DATABASE_URL): Promise<Ran> {
  const ran = { code: 0, out: '', err: '' }
  const given = new PassThrough()
  given.end(input)
  const { config } = loadConfig({ env, file: undefined })
  ran.code = await runProgram(['users', ...args], {
    version: '1.2.3',
    print: (text: string) => void (ran.out += text),
    printError: (text: string) => void (ran.err += text),
    loadConfig: () => config,
    withUsers: opened(uri),
    input: given,
  } as unknown as Dependencies)
  return ran
}

const json = async (args: readonly string[], input = ''): Promise<Record<string, unknown>> => {
  const { code, out, err } = await users([...args, '--json'], input)
  if (code !== 0) throw new Error(err)
  return JSON.parse(out) as Record<string, unknown>
}

const signIn = (email: string, password: string) => passwordGrant(ask, email, password)

t.test('an account is created, confirmed and signs in', async (t) => {
  const created = await users(
    ['create', 'Ada@Example.org', '--password-stdin', '--metadata', '{"full_name":"Ada","n":12345678901234567890}'],
    `${strong}\n`,
  )
  t.match(created, {
    code: 0,
    err: '',
    out: /^Created ada@example\.org, with the id [0-9a-f-]{36}\.\nIt is not confirmed/,
  })
  t.notMatch(created.out, strong)
  t.match(await signIn('ada@example.org', strong), { status: 400, body: { error_code: 'email_not_confirmed' } })
  t.match(await users(['confirm', 'ADA@example.org']), { code: 0, out: 'Confirmed ada@example.org.\n' })
  t.match(await signIn('ada@example.org', strong), { status: 200 })

  const { out } = await users(['show', 'ada@example.org', '--json'])
  t.match(out, '12345678901234567890', 'all digits of metadata')
  t.match(JSON.parse(out), {
    email: 'ada@example.org',
    app_role: null,
    user_metadata: { full_name: 'Ada', email_verified: true },
    identities: [{ provider: 'email' }],
    sessions: [{ hasCookie: false }],
  })
  const { rows } = await database.query(
    "select payload ->> 'actor_username' as actor from auth.audit_log_entries where payload ->> 'action' = 'user_modified'",
  )
  t.strictSame(rows, [{ actor: 'rowhouse users' }], 'in the audit log')
})

t.test('lists and texts', async (t) => {
  await users(['create', '--phone', '+49 30 123456', '--confirm'])
  await users(['create', 'bob@example.org', '--confirm', '--metadata', '{"full_name":"Bob\\u001b[2J"}'])
  const { users: all, total } = (await json(['list'])) as { users: { email: string }[]; total: number }
  t.strictSame([all.map(({ email }) => email), total], [['bob@example.org', '', 'ada@example.org'], 3], 'newest first')
  t.match(await json(['list', 'full', '--per-page', '1']), { users: [], total: 0 })
  t.match(await json(['list', 'ADA']), { users: [{ email: 'ada@example.org', app_role: null }], total: 1 })
  t.match(await users(['list', '--per-page', '2']), {
    code: 0,
    out: /^ID +ADDRESS +APP_ROLE +STATE +LAST SIGN-IN \(UTC\)\n[^\n]+ bob@example\.org +confirmed +never\n[^\n]+ \+4930123456 +confirmed +never\n\n2 of 3 users\. The next ones: --page 2\n$/,
  })
  t.match(await users(['list', '--page', '9']), { out: 'There are 3 users, none on this page.\n' })
  t.match(await users(['list', 'nothing']), { out: 'There are no users.\n' })
  const { out } = await users(['show', 'bob@example.org'])
  t.match(
    out,
    /^id {14}[^\n]+\ne-mail {10}bob@example\.org \(confirmed [^\n]+\)\nstate {11}confirmed\napp_role {8}none\n/,
  )
  t.notMatch(out, '\u001b', 'no control characters')
  t.match(await users(['show', '+4930123456']), { code: 0, out: /phone {11}\+4930123456 \(confirmed / })
})

t.test('a ban ends the access at once', async (t) => {
  const session = sessionOf(await signIn('ada@example.org', strong))
  const read = () => fetch(`${url}/rest/v1/`, { headers: { Authorization: `Bearer ${session.access_token}` } })
  t.equal((await read()).status, 200)
  const banned = await users(['ban', 'ada@example.org', '--for', '30d'])
  t.match(banned, { code: 0, out: /^Banned ada@example\.org until \d{4}-\d\d-\d\d \d\d:\d\d \(UTC\)\.\n$/ })
  const until = Date.parse(String((await json(['show', 'ada@example.org'])).banned_until))
  t.ok(Math.abs(until - Date.now() - 30 * 86_400_000) < 60_000)
  t.equal((await read()).status, 401)
  t.match(await refreshGrant(ask, session.refresh_token), { body: { error_code: 'user_banned' } })
  t.match(await users(['list', 'ada']), { out: /banned until \d{4}/ })
  t.match(await users(['unban', 'ada@example.org']), { code: 0, out: 'ada@example.org is not banned any more.\n' })
  t.equal((await read()).status, 200)
  t.match(await users(['ban', 'ada@example.org']), { code: 0, out: / until 21\d\d-/ })
  await users(['unban', 'ada@example.org'])
})

t.test('administrators', async (t) => {
  t.match(await users(['make-admin', 'ada@example.org']), { code: 0, out: 'ada@example.org has the app_role admin.\n' })
  t.match(await json(['list', 'ada']), { users: [{ app_role: 'admin' }] })
  t.match(await users(['remove-admin', 'bob@example.org']), {
    code: 1,
    err: 'bob@example.org is no administrator: its app_role is none.\n',
  })
  t.match(await json(['remove-admin', 'ada@example.org']), { app_role: null })
})

t.test('a new password ends the sessions', async (t) => {
  const session = sessionOf(await signIn('ada@example.org', strong))
  const next = 'another horse 2?'
  for (const line of [`${next}\r\n`, next]) {
    t.match(await users(['reset-password', 'ada@example.org'], line), {
      code: 0,
      out: 'Changed the password of ada@example.org, and ended its sessions.\n',
    })
  }
  t.equal((await refreshGrant(ask, session.refresh_token)).status, 400)
  t.equal((await signIn('ada@example.org', strong)).status, 400)
  t.equal((await signIn('ada@example.org', next)).status, 200)

  const generated = await users(['reset-password', 'ada@example.org', '--generate-password'])
  const [, password = ''] = /\nPassword: (\S{20})\nIt cannot be shown again\.\n$/.exec(generated.out) ?? []
  t.match(password, /^(?=.*[a-z])(?=.*[0-9])(?=.*[!?])/, 'follows the rules')
  t.equal((await signIn('ada@example.org', password)).status, 200)
  const { password: other } = await json(['create', 'cleo@example.org', '--generate-password', '--confirm'])
  t.equal((await signIn('cleo@example.org', String(other))).status, 200)
})

t.test('an account is deleted once that is confirmed', async (t) => {
  const { id } = await json(['show', 'cleo@example.org'])
  t.match(await users(['delete', 'cleo@example.org']), {
    code: 1,
    out: '',
    err: `This ends the account cleo@example.org with the id ${String(id)}, and deletes the rows of other tables that refer to it with ON DELETE CASCADE. To do it: rowhouse users delete ${String(id)} --yes\n`,
  })
  t.match(await json(['show', String(id).toUpperCase()]), { email: 'cleo@example.org' })
  t.match(await users(['delete', 'cleo@example.org', '--yes']), { code: 0, out: 'Deleted cleo@example.org.\n' })
  t.match(await users(['show', String(id)]), { code: 1, err: `There is no user ${String(id)}.\n` })
  const soft = await json(['create', 'dan@example.org'])
  t.match(await json(['delete', 'dan@example.org', '--soft', '--yes']), { id: soft.id, deleted: true })
  t.match(await users(['show', String(soft.id)]), { code: 0, out: /\nstate {11}deleted \d{4}/ })
  t.match(await users(['confirm', 'dan@example.org']), { code: 1, err: 'There is no user dan@example.org.\n' })
})

t.test('passkeys are shown and removed', async (t) => {
  const email = 'key@example.org'
  await users(['create', email, '--confirm', '--password-stdin'], strong)
  const { access_token: token } = sessionOf(await signIn(email, strong))
  const key = new SoftAuthenticator({ origin: 'https://shop.example' })
  const { body } = await register(ask, token, key)
  const id = String(body.id)
  t.match(await users(['show', email]), {
    out: /^passkeys {8}1\n {16}Passkey, added [\d :-]+, never used, [\da-f-]{36}$/m,
  })
  sessionOf(await signInWith(ask, key))
  t.match(await users(['show', email]), { out: /, last used [^\n]+\n(?:.*\n)* {16}since [\d :-]+, by Passkey, node$/m })
  t.match(await json(['show', email]), {
    passkeys: [{ id, friendly_name: 'Passkey' }],
    sessions: [{ passkey: { id, name: 'Passkey' } }, { passkey: null }],
  })

  t.match(await users(['remove-passkey', email, "' or true"]), {
    ...{ code: 1, out: '' },
    err: `key@example.org has no passkey ' or true. Those are: ${id}.\n`,
  })
  t.match(await users(['remove-passkey', 'ada@example.org', id]), { code: 1, err: /has no passkey [\da-f-]{36}\.\n$/ })
  t.match(await users(['remove-passkey', email, id.toUpperCase()]), { code: 0, out: /^Removed the passkey / })
  t.match(await json(['show', email]), { passkeys: [], sessions: [{ passkey: { id, name: null } }, { passkey: null }] })
  t.match(await users(['show', email]), { out: /^passkeys {8}none$/m })
  t.equal((await signInWith(ask, key)).status, 400)
  const { rows } = await database.query(
    `select payload ->> 'actor_username' as actor from auth.audit_log_entries where payload ->> 'action' = 'passkey_deleted'`,
  )
  t.strictSame(rows, [{ actor: 'rowhouse users' }])
})

t.test('what is refused', async (t) => {
  const stdin = ['create', 'eve@example.org', '--password-stdin']
  const { rows } = await database.query('select email from auth.users where deleted_at is not null')
  const hash = String((rows[0] as { readonly email: string }).email)
  const table: readonly (readonly [readonly string[], RegExp, (string | Buffer)?])[] = [
    [['create'], /^Specify an address or --phone/],
    [['create', 'ada@example.org'], /^ada@example\.org: A user with this email address has already been registered\n$/],
    [['create', 'ada'], /^ada: Unable to validate email address: invalid format\n$/],
    [['create', '--phone', '12x'], /^12x: Invalid phone number format \(E\.164 required\)\n$/],
    [['create', 'eve@example.org', '--metadata', '[1]'], /Allowed is a JSON object/],
    [['create', 'eve@example.org', '--metadata', '{"a":"\\u0000"}'], /must not contain the character NUL/],
    [stdin, /^eve@example\.org: Password should be at least 8 characters\. Password should contain/, 'short\n'],
    [stdin, /^eve@example\.org: Password cannot be longer than 72 characters\n$/, `${'a1!'.repeat(30)}\n`],
    [stdin, /^The password is empty/, '\n'],
    [stdin, /^Standard input has several lines/, `${strong}\n${strong}\n`],
    [stdin, /^Standard input has more than 4096 bytes/, 'a'.repeat(5000)],
    [stdin, /is not valid UTF-8/, Buffer.from([0xff, 0xfe])],
    [stdin, /contains the character NUL/, 'a\0b'],
    [[...stdin, '--generate-password'], /^Choose one/, 'x'],
    [['reset-password', 'ada@example.org'], /^ada@example\.org: Password should be/, 'short'],
    [['show', 'ad'], /^There is no user ad\. Do you mean ada@example\.org\?\n$/],
    [['delete', 'ad', '--yes'], /^There is no user ad\./],
    [['show', hash.slice(0, -1)], /^There is no user \S+\.\n$/],
    [['show', ''], /^Name a user by address, phone number or id\.\n$/],
    [['show', "' or true --"], /^There is no user ' or true --\.\n$/],
    [['show', '%'], /^There is no user %\.\n$/],
    [['show', 'x\u001b[2J'], /^There is no user x.\[2J\.\n$/],
    [['ban', 'ada@example.org', '--for', '1y'], /Allowed are hours, days and weeks/],
    [['ban', 'ada@example.org', '--for', '0h'], /Allowed are hours, days and weeks/],
    [['ban', 'ada@example.org', '--for', '999999w'], /up to 100 years/],
    [['list', '--page', '0'], /Allowed is a whole number from 1 to/],
    [['list', '--per-page', '1001'], /Allowed is a whole number from 1 to 1000/],
    [['promote', 'ada@example.org'], /^error: unknown command 'promote'/],
  ]
  for (const [args, message, input] of table) {
    const ran = await users(args, input)
    t.match(ran, { code: 1, out: '', err: message }, args.join(' '))
  }
  t.match(await json(['list', 'eve']), { total: 0 }, 'nothing was created')
  const { err } = await users(['show', 'zoe', '--json'])
  t.strictSame(JSON.parse(err), { error: 'There is no user zoe.' })
})

t.test('databases and roles without accounts', async (t) => {
  const empty = await createDatabase()
  t.teardown(() => empty.drop())
  t.match(await users(['list'], '', empty.adminUri), {
    code: 1,
    err: 'This database has no accounts yet. Run `rowhouse migrate` first.\n',
  })
  // Roles are of the cluster, which other tests use at the same time.
  const stranger = `stranger_${database.name}`
  await database.query(`create role ${stranger} login password 'stranger'; grant usage on schema auth to ${stranger}`)
  t.teardown(async () => {
    await database.query(`drop owned by ${stranger}; drop role ${stranger}`)
  })
  t.match(await users(['list'], '', database.uri(stranger, 'stranger')), {
    code: 1,
    err: /^The role in DATABASE_URL may not manage accounts\./,
  })
})
