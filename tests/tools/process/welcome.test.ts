import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import t, { type Test } from 'tap'
import { developmentAccounts } from '../../../server/tools/command-line/development-accounts.ts'
import {
  ensureDevelopmentKeys,
  withoutPassword,
  type DevelopmentAccounts,
} from '../../../server/tools/command-line/development-keys.ts'
import type { NewKey } from '../../../server/tools/command-line/dependencies.ts'
import { addSampleData } from '../../../server/tools/command-line/sample-data.ts'
import { welcome } from '../../../server/tools/command-line/welcome.ts'
import { startApplication } from '../../support/application.ts'
import { createMigratedDatabase, withClient } from '../../support/database.ts'
import { skipWithout } from '../../support/external-program.ts'

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
const options = {
  url: 'http://127.0.0.1:3000',
  restPath: '/rest/v1',
  keys,
  databaseUri,
  keysFile: '.data/keys.json',
  runs: (command: string) => `echo rowhouse ${command}`,
  services,
  colors: false,
} as const

/** The commands of the message by their titles. */
const commandsOf = (text: string): readonly (readonly [title: string, commands: string])[] =>
  Array.from(text.matchAll(/^(\d\. .*):\n((?:.+\n)+)/gm), ([, title = '', commands = '']) => [title, commands] as const)

t.test('the three commands work in a shell', { skip: skipWithout('curl', hasCurl) }, async (t) => {
  const { url, seen } = await recorder(t)
  for (const [restPath, rest] of [
    ['/rest/v1', '/rest/v1'],
    ['/', ''],
  ] as const) {
    seen.length = 0
    const commands = commandsOf(welcome({ ...options, url, restPath }))
    t.strictSame(
      commands.map(([title]) => title),
      [
        '1. Store a classification run',
        '2. List runs, the newest first',
        '3. Add sample data, and ask what a car is worth',
      ],
    )
    for (const [title, command] of commands) {
      const { stdout, stderr } = await run('/bin/sh', ['-c', command])
      t.strictSame([stdout.replace('rowhouse sample\n', ''), stderr], ['{"ok":true}', ''], title)
      t.equal(stdout.startsWith('rowhouse sample\n'), title.startsWith('3'), 'sample data first')
      for (const line of command.split('\n')) t.ok(line.length <= 100, line)
    }
    t.match(seen, [
      {
        method: 'POST',
        url: `${rest}/classification_runs`,
        headers: { apikey: 'sb_secret_u', 'content-type': 'application/json', prefer: 'return=representation' },
      },
      {
        method: 'GET',
        url: `${rest}/classification_runs?order=created_at.desc&limit=10`,
        headers: { apikey: 'sb_secret_u' },
      },
      {
        method: 'POST',
        url: `${rest}/rpc/estimate_report`,
        headers: { apikey: 'sb_secret_u', 'content-type': 'application/json' },
      },
    ])
    t.match(JSON.parse(seen[0]?.body ?? ''), { result_label: 'healthy', confidence: 97.5, model_version: '1.0.0' })
    t.match(JSON.parse(seen[2]?.body ?? ''), { manufacturer: 'Toyota', mileage: 40000, lng: 13.405 })
  }
})

t.test('the third command gets an estimate', { skip: skipWithout('curl', hasCurl) }, async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const { url } = await startApplication(t, database.authenticatorUri, { SESSION_SECRETS: 's'.repeat(32) })
  await withClient(database.adminUri, async (client) => {
    const made = await ensureDevelopmentKeys(await folder(t), developmentAccounts(client))
    const text = welcome({ ...options, url, keys: made })
    const outputs: string[] = []
    for (const [title, command] of commandsOf(text)) {
      if (title.startsWith('3')) await addSampleData(client, undefined)
      outputs.push((await run('/bin/sh', ['-c', command])).stdout.replace('rowhouse sample\n', ''))
    }
    const [stored, listed, worth] = outputs.map((output) => JSON.parse(output) as unknown)
    t.match(stored, [{ result_label: 'healthy' }])
    t.match(listed, [{ result_label: 'healthy' }])
    t.match(worth, { estimate: Number, low: Number, high: Number, confidence: Number })
  })
})

t.test('the rest of the welcome message', async (t) => {
  const text = welcome(options)
  t.match(text, /^\nrowhouse is ready at http:\/\/127\.0\.0\.1:3000\n/)
  for (const line of [
    /^ {2}API reference +http:\/\/127\.0\.0\.1:3000\/docs$/m,
    /^ {2}Sign-in +http:\/\/127\.0\.0\.1:3000\/auth\/v1 {2}for supabase-js: createClient\('http:\/\/127\.0\.0\.1:3000', publishable key\)$/m,
    /^ {2}Database +postgresql:\/\/postgres@127\.0\.0\.1:5433\/postgres\n +echo rowhouse psql opens it, echo rowhouse url prints the URL with its password$/m,
    /^ {2}User key +sb_secret_u\n +acts as o'hara@example\.com, whose password is in \.data\/keys\.json$/m,
    /^ {2}Publishable key +sb_publishable_p {2}acts as anon;/m,
    /^ {2}Secret key +sb_secret_s {2}acts as service_role;/m,
    /^To try it, run these commands in another terminal, in this folder\. They use the user key\.$/m,
  ]) {
    t.match(text, line)
  }
  t.notMatch(text, 'Mailbox')
  t.match(
    welcome({ ...options, hasMailbox: true }),
    /^ {2}Mailbox +http:\/\/127\.0\.0\.1:3000\/auth\/v1\/dev\/mailbox {2}the mails of sign-in\n {2}Database/m,
  )
  t.notMatch(welcome({ ...options, services: ['rest'], hasMailbox: true }), /Sign-in|Mailbox/)
  const withSample = welcome({ ...options, hasSample: true })
  t.match(withSample, /^3\. Ask what a car is worth:\ncurl /m)
  t.notMatch(withSample, 'rowhouse sample')
  for (const passwords of [keys.user.password, 'secret@', ':secret']) t.notMatch(text, passwords)
  t.notMatch(JSON.stringify(withoutPassword(keys)), /password|p\$w/)
  t.match(withoutPassword(keys), {
    secretKey: 'sb_secret_s',
    user: { key: 'sb_secret_u', email: "o'hara@example.com" },
  })
  const escape = String.fromCharCode(27)
  t.notOk(text.includes(escape))
  const painted = welcome({ ...options, colors: true })
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
  t.notMatch(welcome({ ...options, services: ['rest', 'auth'] }), /report|classification_runs|curl|To try it/)
  t.notMatch(welcome({ ...options, services: ['auth', 'reports', 'analysis'] }), /curl|To try it/)
  const reports = welcome({ ...options, services: ['rest', 'reports'] })
  t.match(reports, /^1\. Add sample data/m)
  t.notMatch(reports, /classification_runs/)
  t.end()
})
