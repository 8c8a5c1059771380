// One script of requests to this program and to the real PostgREST 12.0.2, both started with the same settings: from
// the environment, from a configuration file, and from the database.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { startApplication } from '../../support/application.ts'
import { createOwnedDatabase } from '../../support/authenticator.ts'
import { readFixture } from '../../support/fixture.ts'
import { dropInDifferences, explanationOf } from '../../support/drop-in-differences.ts'
import { dropInScript, keySet } from '../../support/drop-in-script.ts'
import { unexplained, type KnownDifference } from '../../support/known-difference.ts'
import { startPostgrest, withoutPostgrest } from '../../support/postgrest.ts'
import { says, startProgram } from '../../support/program.ts'
import { send } from '../../support/sent-request.ts'

const { database, authenticator, anonymous, uri } = await createOwnedDatabase(t)
const member = `member_${database.name}`
/** A login role for serving, which has the settings. */
const configured = `configured_${database.name}`
await database.query(`
  create role ${member};
  create role ${configured} login noinherit password 'secret' in role ${anonymous}, ${member};
  grant ${member} to ${authenticator};
`)
const fixture = await readFixture('drop-in')
await database.query(fixture.replaceAll(':anonymous', anonymous).replaceAll(':member', member))
const folder = await mkdtemp(join(tmpdir(), 'rowhouse-drop-in-'))
t.teardown(async () => {
  await rm(folder, { recursive: true })
  await database.query(`drop owned by ${member}, ${configured} cascade; drop role ${member}, ${configured}`)
})

/** Settings by their names in the configuration file. */
const settings: Readonly<Record<string, string>> = {
  'db-schemas': 'shop, depot',
  'db-anon-role': anonymous,
  'db-extra-search-path': 'depot',
  'db-plan-enabled': 'true',
  'db-pre-request': 'depot.check_request',
  'db-tx-end': 'rollback-allow-override',
  'db-max-rows': '3',
  'jwt-secret': keySet,
  'jwt-aud': 'shop',
  'jwt-role-claim-key': '.app.role',
  'openapi-server-proxy-uri': 'https://shop.test:8443/api',
  'openapi-security-active': 'true',
}
for (const [name, value] of Object.entries(settings)) {
  const setting = `pgrst.${name.replaceAll('-', '_')}`
  await database.query(`alter role ${configured} set ${setting} = ${pg.escapeLiteral(value)}`)
}
/** PostgREST 12.0.2 cannot read these settings from the database (its issue 3345), and never `app.settings`. */
const others: Readonly<Record<string, string>> = {
  'server-trace-header': 'X-Trace',
  'server-cors-allowed-origins': 'https://shop.test, https://other.test',
  'app.settings.greeting': 'hello',
}

const variable = (name: string): string =>
  name.startsWith('app.settings.')
    ? `PGRST_APP_SETTINGS_${name.slice('app.settings.'.length)}`
    : `PGRST_${name.toUpperCase().replaceAll('-', '_')}`

const asEnvironment = (given: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [variable(name), value]))

const inFile = (value: string): string =>
  /^(true|false|\d+)$/.test(value) ? value : `"${value.replaceAll('"', '\\"')}"`

async function asFile(given: Readonly<Record<string, string>>): Promise<string> {
  const path = join(folder, 'shop.conf')
  const secret = join(folder, 'keys.json')
  await writeFile(secret, keySet)
  const lines = Object.entries({ ...given, 'jwt-secret': `@${secret}` }).map(
    ([name, value]) => `${name} = ${inFile(value)}`,
  )
  await writeFile(path, `# The shop\n${lines.join('\n')}\n`)
  return path
}

type Start = () => Promise<string>

async function compare(
  t: Test,
  start: Start,
  environment: Readonly<Record<string, string>>,
  file?: string,
): Promise<void> {
  const theirUrl = await startPostgrest(t, environment, file)
  const ourUrl = await start()
  const seen = new Set<KnownDifference>()
  for (const request of await dropInScript(member)) {
    const [theirs, ours] = await Promise.all([send(theirUrl, request), send(ourUrl, request)])
    const found = unexplained({ request, theirs, ours }, explanationOf, seen)
    if (found.length > 0) t.fail(`${request.method} ${request.path}`, { request, unexplained: found })
  }
  for (const known of dropInDifferences) t.ok(seen.has(known), `still needed: ${known.version} ${known.reason}`)
}

// In parallel, because starting six servers takes most of the time.
t.jobs = 3

const atRoot = { REST_BASE_PATH: '/' }

async function program(t: Test, environment: Readonly<Record<string, string>>, ...files: string[]): Promise<string> {
  const { line, url } = startProgram(t, { ...environment, ...atRoot }, files)
  await line(says('listening'))
  return url()
}

t.test('settings from the environment', { skip: withoutPostgrest }, async (t) => {
  const environment = { PGRST_DB_URI: uri, ...asEnvironment({ ...settings, ...others }) }
  await compare(t, () => program(t, environment), environment)
})

t.test('settings from a file', { skip: withoutPostgrest }, async (t) => {
  const file = await asFile({ 'db-uri': uri, ...settings, ...others })
  await compare(t, () => program(t, {}, file), {}, file)
})

t.test('settings from the database', { skip: withoutPostgrest }, async (t) => {
  const environment = {
    PGRST_DB_URI: database.uri(configured, 'secret'),
    ...asEnvironment(others),
    // These have lower precedence.
    PGRST_DB_SCHEMAS: 'depot',
    PGRST_DB_ANON_ROLE: member,
    PGRST_DB_MAX_ROWS: '1',
    PGRST_JWT_SECRET: 'x'.repeat(32),
  }
  const start = async (): Promise<string> => {
    const more = { ...environment, ...atRoot, DATABASE_URL: undefined }
    return (await startApplication(t, environment.PGRST_DB_URI, more)).url
  }
  await compare(t, start, environment)
})
