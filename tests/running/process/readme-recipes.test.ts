// Runs the recipes of the README and the guides as they are in their text.
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import pg from 'pg'
import t from 'tap'
import { isAuthFamily } from '../../../server/config/auth-families.ts'
import { allSettings } from '../../../server/config/settings.ts'
import { aliasVariable, settingVariables } from '../../../server/config/setting.ts'
import { createApiKey } from '../../../server/identity/api-key/api-key.ts'
import { startEmbedded } from '../../../server/postgres/embedded/embedded.ts'
import { embeddedVariable } from '../../../server/running/embedded-environment.ts'
import { detailsOf, signUp } from '../../support/account.ts'
import { startApplication } from '../../support/application.ts'
import { createMigratedDatabase, withClient } from '../../support/database.ts'
import { patient } from '../../support/image-upload.ts'
import { command } from '../../support/program.ts'
import { guideText, readmeSection } from '../../support/readme-section.ts'
import { greenLake } from '../../support/test-image.ts'
import { until } from '../../support/until.ts'

const tables = guideText('server/tools/migrations/README.md')

t.test('the recipe for a database of your own', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-recipe-'))
  const cluster = await startEmbedded({ dataDir: join(folder, 'data'), log: () => undefined })
  t.teardown(async () => {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  })
  // A typical new database: scram-sha-256 for everyone, a database `app`, and no role of this program.
  const owner = new pg.Client({ connectionString: cluster.adminUri })
  await owner.connect()
  await owner.query('drop role authenticator')
  await owner.query(`alter role postgres password 'its-password'`)
  await owner.query('create database app')
  await owner.end()

  const program = command()
  const lines = readmeSection('recipe')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  t.match(lines[0], /^npm ci && npm run build$/)
  const script = lines
    .slice(1)
    .map((line) =>
      line
        .replace('localhost:5432', `127.0.0.1:${cluster.port}`)
        // The signal that ends the shell must reach the server.
        .replace(/node dist\/main\.js serve/, 'exec node dist/main.js serve')
        .replace('node dist/main.js', program.map((word) => `'${word}'`).join(' ')),
    )
    .join('\n')
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(PGRST_|PG|DATABASE_URL|MIGRATION_|SESSION_|DATA_DIR|REST_|HOST$|PORT$)/.test(name),
  )
  const shell = spawn('/bin/sh', ['-e', '-c', script], { env: { ...Object.fromEntries(inherited), PORT: '0' } })
  t.teardown(() => shell.kill())
  let out = ''
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [shell.stdout, shell.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        out += chunk
        const [, address] = /Listening on (http:[^"\s]+)/.exec(out) ?? []
        if (address !== undefined) resolve(address)
      })
    }
    shell.once('close', () => reject(new Error(`the recipe failed:\n${out}`)))
  })
  t.match(out, /Set the password of the role authenticator to the one in DATABASE_URL\./)
  const ask = async (path: string): Promise<[number, string]> => {
    const response = await fetch(url + path)
    return [response.status, await response.text()]
  }
  t.match(await ask('/ready'), [200, /"ready"/])
  const [key = ''] = /sb_publishable_[\w-]+/.exec(out) ?? []
  const { stdout } = await promisify(execFile)(
    '/bin/sh',
    [
      '-e',
      '-c',
      readmeSection('recipe-sign-up').replaceAll('http://localhost:3000', url).replace('sb_publishable_…', key),
    ],
    { env: { PATH: process.env.PATH } },
  )
  const profiles = JSON.parse(stdout) as readonly { readonly id: string }[]
  t.match(profiles, [{ id: /^[0-9a-f-]{36}$/ }])
  const page = createClient(url, key, { auth: { persistSession: false }, realtime: { transport: class {} as never } })
  const signedIn = await page.auth.signInWithPassword({ email: 'ann@example.org', password: 'correct horse' })
  t.match(signedIn, { data: { user: { id: profiles[0]?.id, email_confirmed_at: String } }, error: null })
  t.equal((await ask('/report'))[0], 401, 'sessions are set up')
  t.equal((await ask('/rest/v1/none'))[0], 404)
  const ended = new Promise((resolve) => shell.once('exit', resolve))
  shell.kill('SIGTERM')
  t.equal(await ended, 0)
})

t.test('the three requests, and their responses', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const app = await startApplication(t, database.authenticatorUri, { ...patient, SESSION_SECRETS: 's'.repeat(32) })
  const { id } = await signUp(app.call, 'ann@example.org')
  // As the development user is called, whose key `npm start` prints.
  await database.query("update public.profiles set full_name = 'Developer'")
  const keys = await withClient(database.adminUri, async (client) => [
    await createApiKey(client, { role: 'authenticated', userId: id, label: 'user' }),
    await createApiKey(client, { role: 'anon', label: 'page' }),
  ])
  const blocks = Array.from(guideText('README.md').matchAll(/^```sh\n([^]*?)```$/gm), ([, block = '']) => block)
  const script = blocks.join('')
  const { stdout } = await promisify(execFile)('/bin/sh', ['-e', '-c', script.replaceAll(/^# .*$/gm, 'echo')], {
    env: { PATH: process.env.PATH, URL: app.url, KEY: keys[0]?.key, PUBLISHABLE_KEY: keys[1]?.key },
  })
  const shown = [...script.matchAll(/^# (.*)$/gm)].map(([, response]) => response)
  t.equal(shown.length, 3)
  t.strictSame(stdout.trim().split('\n'), shown)
})

t.test('the curl commands of the image analysis', async (t) => {
  const database = await createMigratedDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-recipe-'))
  t.teardown(async () => {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })
  await writeFile(join(folder, 'lake.jpg'), await greenLake())
  await writeFile(join(folder, 'shore.png'), 'not an image')
  const app = await startApplication(t, database.authenticatorUri, { ...patient, SESSION_SECRETS: 's'.repeat(32) })
  const account = await signUp(app.call, 'ann@example.org')
  const { access_token: token } = detailsOf<{ access_token: string }>(await account.call('POST', '/auth/token'))
  const script = readmeSection('analysis')
    .replace('http://localhost:3000', app.url)
    .replaceAll(/^ *curl .*$/gm, (line) => `${line.replace('curl', 'curl --silent --show-error --fail')}; echo`)
  const { stdout } = await promisify(execFile)('/bin/sh', ['-e', '-c', script], {
    cwd: folder,
    env: { PATH: process.env.PATH, TOKEN: token },
  })
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
  const green = { classification: 'needs_review', method: 'colour-index', boxes: [{ width: 80 }] }
  t.match(answers, [
    green,
    [
      { ...green, image: 'lake.jpg' },
      { image: 'shore.png', error: String },
    ],
    green,
    green,
  ])
  t.equal(answers.length, 4)
  const { rows } = await database.query('select user_id, image_source from public.classification_runs')
  t.strictSame(rows, [{ user_id: account.id, image_source: 'camera' }])
})

type Mail = { readonly to: string; readonly code: string; readonly link: string }

t.test('the lines of a page that signs in', async (t) => {
  const database = await createMigratedDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-recipe-'))
  t.teardown(async () => {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })
  await promisify(execFile)('/bin/sh', ['-e', '-c', readmeSection('keys')], {
    cwd: folder,
    env: { PATH: process.env.PATH },
  })
  const [table = ''] = /create table public\.sightings[^]*?grant [^;]*;/.exec(tables) ?? []
  await database.query(table)
  await database.query(readmeSection('hook'))
  const { url } = await startApplication(t, database.authenticatorUri, {
    [embeddedVariable]: 'true',
    PGRST_SERVER_HOST: '127.0.0.1',
    SESSION_SECRETS: 's'.repeat(32),
    GOTRUE_JWT_KEYS: `@${join(folder, 'jwt-keys.json')}`,
    GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED: 'true',
    GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI: 'pg-functions://postgres/public/add_plan',
  })
  const { key } = await withClient(database.adminUri, (client) => createApiKey(client, { role: 'anon', label: 'page' }))
  const page = 'http://localhost:8080/notes.html'

  const mails = async (): Promise<readonly Mail[]> => {
    const { messages } = (await (await fetch(`${url}/auth/v1/dev/mailbox`)).json()) as { readonly messages: Mail[] }
    return messages
  }
  const statuses: string[] = []
  const parts = {
    createClient: (given: string, givenKey: string): SupabaseClient => {
      t.equal(given, 'http://127.0.0.1:3000')
      t.equal(givenKey, 'sb_publishable_…')
      return createClient(url, key, {
        global: {
          fetch: async (input, init) => {
            const response = await fetch(input, init)
            statuses.push(`${new URL(response.url).pathname} ${response.status}`)
            return response
          },
        },
        auth: { autoRefreshToken: false },
        // Node 20 has no WebSocket.
        realtime: { transport: class {} as never },
      }) as SupabaseClient
    },
    location: { href: page },
    prompt: async () => {
      t.ok(await until(async () => (await mails()).length === 1))
      return (await mails())[0]?.code
    },
  }
  const lines = readmeSection('sign-in')
    .replace(/^import .*$/m, '')
    .replace('prompt(', 'await prompt(')
  await writeFile(
    join(folder, 'page.mjs'),
    `export default async ({ createClient, location, prompt }) => {${lines}; return { supabase, data, error, email } }`,
  )
  const module = (await import(pathToFileURL(join(folder, 'page.mjs')).href)) as {
    readonly default: (
      given: typeof parts,
    ) => Promise<{ supabase: SupabaseClient; data: unknown; error: unknown; email: string }>
  }
  const { supabase, data, error, email } = await module.default(parts)

  t.strictSame([data, error], [[{ place: 'Lake' }], null])
  t.strictSame(statuses, [
    '/auth/v1/signup 200',
    '/auth/v1/verify 200',
    '/rest/v1/sightings 201',
    '/rest/v1/sightings 200',
    '/auth/v1/logout 204',
    '/auth/v1/token 200',
    '/auth/v1/otp 200',
  ])
  t.match((await supabase.auth.getClaims()).data, { header: { alg: 'ES256' }, claims: { email, plan: 'free' } })
  t.ok(await until(async () => (await mails()).length === 2))
  const links = (await mails()).map(({ link }) => link)
  const opened = await fetch(links[0] ?? '', { redirect: 'manual' })
  t.equal(opened.status, 303)
  t.match(opened.headers.get('location'), `${page}#access_token=`)
  t.ok(
    links.every((link) => new URL(link).searchParams.get('redirect_to') === page),
    'links lead to the page',
  )
})

t.test('examples use only settings of the program', async (t) => {
  const known = new Set(
    allSettings.flatMap((setting) => [...settingVariables(setting), ...(setting.aliases ?? []).map(aliasVariable)]),
  )
  const examples: readonly (readonly [string, RegExp])[] = [
    // Variables of the services that run this program.
    ['compose', /^ {6}([A-Z_]+): (?!app$|\$\{OWNER)/gm],
    ['systemd', /(?<!\w)([A-Z_]{4,})=/g],
    // Those of AWS's SDK are not settings of the program.
    ['kubernetes-secret', /^ {2}(?!AWS_)([A-Z_0-9]+): /gm],
    ['kubernetes-migrate', /name: ([A-Z_0-9]{4,})$/gm],
    ['kubernetes', /^ {2}([A-Z_0-9]+): /gm],
    ['sign-in-settings', /([A-Z_]{4,})=/g],
  ]
  for (const [name, pattern] of examples) {
    const names = Array.from(readmeSection(name).matchAll(pattern), ([, variable = '']) => variable)
    t.ok(names.length > 0, name)
    for (const variable of names) t.ok(known.has(variable) || isAuthFamily(variable), `${name}: ${variable}`)
  }
  for (const [, variable = ''] of readmeSection('compose').matchAll(/\$\{(\w+):\?\}/g)) {
    t.ok(known.has(variable) || variable.endsWith('_PASSWORD'), variable)
  }
})

t.test('the license matches package.json', async (t) => {
  const { license } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    license: string
  }
  t.match(await readFile(new URL('../../../LICENSE', import.meta.url), 'utf8'), new RegExp(`^${license} License\n`))
})
