// Runs tests on another PostgreSQL: `npm run test:versions -- 14`, whose programs npm installs for that time, or
// `npm run test:versions -- /usr/lib/postgresql/15`. Without names of files, those that depend most on the database.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { databaseUser } from '../../server/postgres/embedded/system-user.ts'
import { withOldBinaries } from '../../server/tools/backups/old-binaries.ts'
import { joinFiles } from '../support/file-group.ts'

const rooms = ['auth', 'catalogue', 'postgres', 'realtime', 'rest', 'schedules', 'storage', 'webhooks']

const [version = '', ...args] = process.argv.slice(2)
if (version === '') throw new Error('Name a major version of PostgreSQL, or a folder that contains bin/postgres.')

const filesOf = (room: string): string[] =>
  readdirSync(join('tests', room))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('tests', room, name))

const chosen = args.some((argument) => argument.endsWith('.test.ts'))
  ? args
  : [...args, ...joinFiles(rooms.flatMap(filesOf))]
const major = Number(version)
await withOldBinaries(Number.isInteger(major) ? undefined : resolve(version), console.log, async (find) => {
  const { postgres, majorVersion } = await find(major, await databaseUser(null))
  console.log(`PostgreSQL ${majorVersion}: ${postgres}`)
  const env = { ...process.env, ROWHOUSE_TEST_POSTGRES: dirname(dirname(postgres)) }
  process.exitCode = spawnSync('tap', chosen, { stdio: 'inherit', env }).status ?? 1
})
