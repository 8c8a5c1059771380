// Runs the README's recipes as they are in its text.
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import t from 'tap'
import { allSettings } from '../../server/config/settings.ts'
import { aliasVariable, settingVariables } from '../../server/config/setting.ts'
import { startEmbedded } from '../../server/postgres/embedded/embedded.ts'
import { detailsOf, signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { patient } from '../support/image-upload.ts'
import { command } from '../support/program.ts'
import { greenLake } from '../support/test-image.ts'

t.setTimeout(300_000)

const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')

/** The text between the comments `<!-- name -->` and `<!-- /name -->`. */
function section(name: string): string {
  const [, text] = new RegExp(`<!-- ${name} -->([^]*?)<!-- /${name} -->`).exec(readme) ?? []
  if (text === undefined) throw new Error(`the README has no section ${name}`)
  return text
}

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
  const lines = section('recipe')
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
  t.equal((await ask('/report'))[0], 401, 'sessions are set up')
  t.equal((await ask('/rest/v1/none'))[0], 404)
  const ended = new Promise((resolve) => shell.once('exit', resolve))
  shell.kill('SIGTERM')
  t.equal(await ended, 0)
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
  const script = section('analysis')
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

t.test('examples use only settings of the program', async (t) => {
  const known = new Set(
    allSettings.flatMap((setting) => [...settingVariables(setting), ...(setting.aliases ?? []).map(aliasVariable)]),
  )
  const examples: readonly (readonly [string, RegExp])[] = [
    // Variables of the services that run this program.
    ['compose', /^ {6}([A-Z_]+): (?!app$|\$\{OWNER)/gm],
    ['systemd', /([A-Z_]{4,})=/g],
  ]
  for (const [name, pattern] of examples) {
    const names = Array.from(section(name).matchAll(pattern), ([, variable = '']) => variable)
    t.ok(names.length > 1, name)
    for (const variable of names) t.ok(known.has(variable), `${name}: ${variable}`)
  }
  for (const [, variable = ''] of section('compose').matchAll(/\$\{(\w+):\?\}/g)) {
    t.ok(known.has(variable) || variable.endsWith('_PASSWORD'), variable)
  }
})

t.test('the license matches package.json', async (t) => {
  const { license } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
    license: string
  }
  t.match(await readFile(new URL('../../LICENSE', import.meta.url), 'utf8'), new RegExp(`^${license} License\n`))
})
