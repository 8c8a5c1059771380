// The migrations of a project in the program: its guide's example, a start, and a watch.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { loadConfig } from '../../../server/config/load.ts'
import { watchProject } from '../../../server/tools/migrations/watch-project.ts'
import type { WatchEvent } from '../../../server/tools/migrations/watch.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { main, says, startProgram } from '../../support/program.ts'
import { readmeSection, withProgram } from '../../support/readme-section.ts'
import { until } from '../../support/until.ts'

const folder = await realpath(await mkdtemp(join(tmpdir(), 'rowhouse-project-')))
const migrations = join(folder, 'migrations')
const database = await createMigratedDatabase()
t.teardown(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})
const env = {
  DATABASE_URL: database.authenticatorUri,
  MIGRATION_DATABASE_URL: database.adminUri,
  SESSION_SECRETS: 's'.repeat(32),
}

t.test('the commands of the guide, in an empty folder', async (t) => {
  const script = readmeSection('migrations')
  t.match(script, /rowhouse migrate new/)
  const { stdout } = await promisify(execFile)('/bin/sh', ['-e', '-c', withProgram(script, [process.execPath, main])], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
  })
  const file = String.raw`\d{14}_create_tasks\.sql`
  const expected = [
    String.raw`Created migrations/${file}\.`,
    String.raw`create table public\.tasks \(id integer primary key\);`,
    String.raw`Would apply:\n  migrations/${file}`,
    String.raw`Applied:\n  migrations/${file}`,
    String.raw`FILE +STATE +SINCE\n${file}  applied  \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`,
  ]
  t.match(stdout, new RegExp(`^${expected.join('\n')}\n$`))
  t.equal((await database.query("select to_regclass('public.tasks') is not null as is")).rows[0]?.is, true)
})

t.test('serve applies new files, and validates bodies by the schemas beside them', async (t) => {
  await writeFile(
    join(migrations, '20990101000000_rooms.sql'),
    'create table public.rooms (id integer primary key, name text); grant insert on public.rooms to anon;',
  )
  await mkdir(join(folder, 'schemas'))
  const schema = {
    $id: 'urn:app:room',
    'x-table': 'public.rooms',
    type: 'object',
    additionalProperties: false,
    properties: { id: { type: 'integer' }, name: { type: 'string', maxLength: 3 } },
  }
  await writeFile(join(folder, 'schemas/room.json'), JSON.stringify(schema))
  const waiting = startProgram(t, { ...env, MIGRATE_ON_START: 'false' }, ['--migrations', migrations])
  t.match(await waiting.line((line) => String(line.msg).includes('Not applied')), {
    msg: /^Not applied to the database: .*20990101000000_rooms\.sql\. `rowhouse migrate` applies them/,
  })
  const program = startProgram(t, { ...env, MIGRATE_ON_START: 'true' }, ['--migrations', migrations])
  t.match(await program.line(says('migrated')), { msg: 'Applied 1 migrations' })
  await program.line(says('listening'))
  const headers = { 'Content-Type': 'application/json' }
  const post = async (body: object): Promise<number> =>
    (await program.call('POST', '/rest/v1/rooms', { headers, body })).status
  t.equal(await post({ id: 1, name: 'long' }), 400)
  t.equal(await post({ id: 1, name: 'Red' }), 201)
})

t.test('watching: what is saved is tried in a new database, then applied or refused', async (t) => {
  const { config } = loadConfig({ env: { ...env, MIGRATIONS_DIR: migrations, SERVICES: 'rest,auth' } })
  const events: WatchEvent[] = []
  const controller = new AbortController()
  const watching = watchProject(
    config,
    database.adminUri,
    {},
    {
      report: (event) => void events.push(event),
      signal: controller.signal,
    },
  )
  t.teardown(() => controller.abort())
  const save = (name: string, text: string): Promise<void> => writeFile(join(migrations, name), text)
  /** The next event, in which paths are without the folder. */
  const next = async (): Promise<WatchEvent> => {
    t.ok(await until(() => events.length > 0), 'something is reported')
    const { message = '', ...event } = events.shift() ?? { kind: 'error' }
    return { ...event, message: message.replaceAll(`${migrations}/`, '') }
  }
  t.match(await next(), { kind: 'notice', message: `Watching ${migrations}` })
  await save('20990101000001_doors.sql', 'create table doors (id int);\ncreate table walls (id ibt);')
  t.match(await next(), {
    kind: 'error',
    message:
      /^20990101000001_doors\.sql:2:24: type "ibt" does not exist \(42704\)\n 2 \| create table walls.*\n +\| +\^\n/,
    place: { line: 2, column: 24, statement: 2, code: '42704' },
  })
  await save('20990101000001_doors.sql', 'create table doors (id int);\ncreate table walls (id int);')
  t.strictSame(await next(), { kind: 'notice', message: 'Applied: 20990101000001_doors.sql' })
  await save(
    '20990101000001_doors.sql',
    'create table doors (id int);\ncreate table walls (id int);\nalter table doors add b int;',
  )
  t.strictSame(await next(), { kind: 'notice', message: 'Applied: 20990101000001_doors.sql' })
  await database.query('insert into doors values (1, 2)')
  await save('20990101000001_doors.sql', 'create table doors (id bigint);')
  t.match(await next(), { kind: 'notice', message: /accepts the file, but this database has what it said before\.\n/ })
  controller.abort()
  await watching
  const left = await database.query("select datname from pg_database where datname like 'rowhouse_throwaway%'")
  t.strictSame(left.rows, [], 'no database is left')
})
