// Runs tests on another PostgreSQL: `npm run test:versions -- 14`, whose programs npm installs for that time, or
// `npm run test:versions -- /usr/lib/postgresql/15`. Without names of files, those that depend most on the database.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { databaseUser } from '../../server/postgres/embedded/system-user.ts'
import { withOldBinaries } from '../../server/tools/backups/old-binaries.ts'
import { joinFiles } from '../support/file-group.ts'

const rooms = ['auth', 'catalogue', 'postgres', 'realtime', 'rest', 'schedules', 'storage', 'webhooks']

/** What their databases contain needs PostgreSQL 15: views with security_invoker. */
const needing15 = ['tests/rest/tenants.test.ts', 'tests/postgres/sharing.test.ts']

const [version = '', ...args] = process.argv.slice(2)
if (version === '') throw new Error('Name a major version of PostgreSQL, or a folder that contains bin/postgres.')

const filesOf = (room: string): string[] =>
  readdirSync(join('tests', room))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('tests', room, name))

const named = args.filter((argument) => argument.endsWith('.test.ts'))
const options = args.filter((argument) => !named.includes(argument))
const major = Number(version)
const folder = Number.isInteger(major) ? undefined : resolve(version)
await withOldBinaries(folder, console.log, async (find) => {
  const { postgres, majorVersion } = await find(major, await databaseUser(null))
  console.log(`PostgreSQL ${majorVersion}: ${postgres}`)
  const all = rooms.flatMap(filesOf).filter((file) => majorVersion >= 15 || !needing15.includes(file))
  const env = { ...process.env, ROWHOUSE_TEST_POSTGRES: dirname(dirname(postgres)) }
  const files = joinFiles(named.length > 0 ? named : all)
  process.exitCode = spawnSync('tap', [...options, ...files], { stdio: 'inherit', env }).status ?? 1
})
