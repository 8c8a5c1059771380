import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import t, { type Test } from 'tap'
import { ensureDevelopmentKeys, type DevelopmentAccounts } from '../../server/program/command-line/development-keys.ts'
import type { NewKey } from '../../server/program/command-line/dependencies.ts'
import { welcome } from '../../server/program/command-line/welcome.ts'

const run = promisify(execFile)

const keys = {
  publishableKey: 'sb_publishable_p',
  secretKey: 'sb_secret_s',
  user: { id: 'u1', email: "o'hara@example.com", password: 'p$w"`d', key: 'sb_secret_u' },
}

const databaseUri = 'postgresql://postgres:secret@127.0.0.1:5433/postgres'

type Seen = { method: string; url: string; headers: IncomingMessage['headers']; body: string }

async function recorder(t: Test): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
      if (request.url === '/auth/signin')
        response.setHeader('Set-Cookie', 'session=abc; Path=/; HttpOnly; SameSite=Lax')
      response.end('{"ok":true}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
)

const services = ['rest', 'auth', 'reports', 'analysis'] as const

t.test('the three curl commands work in a shell', { skip: !hasCurl }, async (t) => {
  const { url, seen } = await recorder(t)
  for (const [restPath, runs] of [
    ['/rest/v1', '/rest/v1/classification_runs'],
    ['/', '/classification_runs'],
  ] as const) {
    seen.length = 0
    const lines = welcome({ url, restPath, keys, databaseUri, services, colors: false })
      .split('\n')
      .filter((line) => line.startsWith('curl'))
    t.equal(lines.length, 3)
    for (const line of lines) {
      const { stdout, stderr } = await run('/bin/sh', ['-c', line])
      t.strictSame([stdout, stderr], ['{"ok":true}', ''], line)
    }
    t.match(seen, [
      {
        method: 'POST',
        url: runs,
        headers: { apikey: 'sb_secret_u', 'content-type': 'application/json', prefer: 'return=representation' },
      },
      { method: 'GET', url: `${runs}?order=created_at.desc&limit=10`, headers: { apikey: 'sb_secret_u' } },
      { method: 'POST', url: '/auth/signin', headers: { 'content-type': 'application/json' } },
      { method: 'POST', url: '/report', headers: { cookie: 'session=abc', 'content-type': 'application/json' } },
    ])
    t.strictSame(JSON.parse(seen[2]?.body ?? ''), { email: keys.user.email, password: keys.user.password })
    t.notMatch(seen[3]?.headers, { apikey: /./ })
  }
})

t.test('the rest of the welcome message', async (t) => {
  const options = { url: 'http://127.0.0.1:3000', restPath: '/rest/v1', keys, databaseUri }
  const text = welcome({ ...options, services, colors: false })
  t.match(text, /^\nrowhouse is ready at http:\/\/127\.0\.0\.1:3000\n/)
  for (const line of [
    /^ {2}API reference +http:\/\/127\.0\.0\.1:3000\/docs$/m,
    /^ {2}Sign-in +http:\/\/127\.0\.0\.1:3000\/auth\/v1 {2}for supabase-js: createClient\('http:\/\/127\.0\.0\.1:3000', publishable key\)$/m,
    /^ {2}Database +postgresql:\/\/postgres:secret@127\.0\.0\.1:5433\/postgres {2}rowhouse psql, rowhouse url$/m,
    /^ {2}User key +sb_secret_u {2}acts as o'hara@example\.com; requests 1 and 2 use it$/m,
    /^ {2}Publishable key +sb_publishable_p {2}acts as anon;/m,
    /^ {2}Secret key +sb_secret_s {2}acts as service_role;/m,
    /^1\. Store a classification run, with the user key:$/m,
    /^2\. List runs, the newest first, with the user key:$/m,
    /^3\. Sign in, and create a report with the session cookie:$/m,
  ]) {
    t.match(text, line)
  }
  t.notMatch(text, 'Mailbox')
  t.match(
    welcome({ ...options, services, hasMailbox: true, colors: false }),
    /^ {2}Mailbox +http:\/\/127\.0\.0\.1:3000\/auth\/v1\/dev\/mailbox {2}the mails of sign-in\n {2}Database/m,
  )
  t.notMatch(welcome({ ...options, services: ['rest'], hasMailbox: true, colors: false }), /Sign-in|Mailbox/)
  const escape = String.fromCharCode(27)
  t.notOk(text.includes(escape))
  const painted = welcome({ ...options, services, colors: true })
  t.ok(painted.includes(`${escape}[1m`))
  t.equal(stripVTControlCharacters(painted), text, 'the outputs differ in colours only')
})

type Fake = DevelopmentAccounts & { readonly users: string[]; readonly made: NewKey[]; readonly revoked: Set<string> }

function fakeAccounts(taken: readonly string[] = []): Fake {
  const users = [...taken]
  const made: NewKey[] = []
  const revoked = new Set<string>()
  return {
    users,
    made,
    revoked,
    createUser: (email) => {
      if (users.includes(email)) return Promise.resolve(null)
      return Promise.resolve(`id-${users.push(email)}`)
    },
    createKey: (wanted) => Promise.resolve(`key-${made.push(wanted)}`),
    isValidKey: (key) => Promise.resolve(!revoked.has(key)),
  }
}

async function folder(t: Test): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'rowhouse-keys-'))
  t.teardown(() => rm(made, { recursive: true, force: true }))
  return made
}

t.test('development keys', async (t) => {
  const dataDir = await folder(t)
  const file = join(dataDir, 'keys.json')
  const accounts = fakeAccounts()
  const first = await ensureDevelopmentKeys(dataDir, accounts)
  t.match(first, {
    publishableKey: 'key-1',
    secretKey: 'key-2',
    user: { id: 'id-1', email: 'developer@example.com', key: 'key-3', password: /^[\w-]{16}$/ },
  })
  t.match(accounts.made, [{ role: 'anon' }, { role: 'service_role' }, { role: 'authenticated', userId: 'id-1' }])
  t.equal((await stat(file)).mode & 0o777, 0o600)

  t.strictSame(await ensureDevelopmentKeys(dataDir, accounts), first, 'they are created once')
  t.equal(accounts.made.length, 3)

  await chmod(file, 0o644)
  await ensureDevelopmentKeys(dataDir, accounts)
  t.equal((await stat(file)).mode & 0o777, 0o600, 'and readable by the owner only')

  const spoilt = ['', 'x', '[]', 'null', '{"user":null}', JSON.stringify({ ...first, user: { id: 1 } })]
  for (const text of spoilt) {
    await writeFile(file, text)
    const next = await ensureDevelopmentKeys(dataDir, accounts)
    t.not(next.secretKey, first.secretKey, text)
    t.match(
      next.user.email,
      /^developer-[\da-f]{6}@example\.com$/,
      'another user, because the password of the first is lost',
    )
    t.strictSame(JSON.parse(await readFile(file, 'utf8')), next)
  }

  const kept = await ensureDevelopmentKeys(dataDir, accounts)
  for (const key of [kept.publishableKey, kept.secretKey, kept.user.key]) {
    accounts.revoked.clear()
    accounts.revoked.add(key)
    t.not(
      (await ensureDevelopmentKeys(await copy(t, file), accounts)).user.key,
      kept.user.key,
      'created again after revocation',
    )
  }
  t.strictSame((await import('node:fs')).readdirSync(dataDir), ['keys.json'], 'nothing else remains')
})

async function copy(t: Test, file: string): Promise<string> {
  const other = await folder(t)
  await writeFile(join(other, 'keys.json'), await readFile(file))
  return other
}

t.test('requests to services that the server does not have are left out', (t) => {
  const keys = { publishableKey: 'p', secretKey: 's', user: { id: '1', email: 'a@b.example', password: 'w', key: 'k' } }
  const options = { url: 'http://127.0.0.1:1', restPath: '/rest/v1', keys, databaseUri: 'postgres://x', colors: false }
  t.notMatch(welcome({ ...options, services: ['rest', 'auth'] }), /report|classification_runs|requests 1|curl/)
  const reports = welcome({ ...options, services: ['auth', 'reports'] })
  t.match(reports, /^1\. Sign in, and create a report/m)
  t.notMatch(reports, /classification_runs/)
  t.end()
})
