// Loads TypeScript in tests: each file is compiled by esbuild once, then read from a folder of compiled files. In a test
// that starts the whole application this takes half the processor time of tsx. Types are checked by `npm run typecheck`.
//
// A test that needs most of the service gets its modules from one file (`support/server-bundle.ts`). ROWHOUSE_TEST_BUNDLE=0
// turns that off.
import { statfsSync } from 'node:fs'
import { register } from 'node:module'
import { relative } from 'node:path'
import process from 'node:process'
import { fileURLToPath, URL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { isMainThread } from 'node:worker_threads'

// V8 optimises a function after it has run about eight times as long as by default: code of tests runs too briefly for the time
// that compiling it takes, which is a tenth of the processor time.
setFlagsFromString('--interrupt-budget=1000000')

const memory = '/dev/shm'

// Temporary files, and with them the databases, are kept in memory where 4 GiB are free: on a disk, creating a database
// takes ten times the processor time.
if (freeMemory() > 4 * 2 ** 30) process.env.TMPDIR ??= memory

// What tap loads to measure coverage takes a second of each child process that inherits it, and is of no use there.
const isNeeded = (option) => !option.includes('@tapjs/processinfo')
process.execArgv = process.execArgv.filter(isNeeded)
const { NODE_OPTIONS: inherited } = process.env
// It would add itself to each child process at its start, where the workers of functions have no permission to load it.
const atSpawn = Symbol.for('process-on-spawn@*:singletonId')
globalThis[atSpawn] ??= { version: 1, listeners: [], unwrap: () => undefined }
globalThis[atSpawn].listeners.splice(0)
if (inherited !== undefined) process.env.NODE_OPTIONS = inherited.split(' ').filter(isNeeded).join(' ')

function freeMemory() {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize
  } catch {
    return 0
  }
}

// Programs of child processes, which are in the rooms of the server, need few modules, like unit tests: without the bundle
// they start in a quarter of the time.
const program = relative(fileURLToPath(new URL('..', import.meta.url)), process.argv[1] ?? '')
const needsFew = !isMainThread || /^(?:tests\/.+\/unit|server\/.+)\/|\/groups\/unit-/.test(program)
const ofGroup = program.includes('/rowhouse-tests/groups/')
const bundled = !needsFew && process.env.ROWHOUSE_TEST_BUNDLE !== '0'
register('./typescript-hooks.mjs', import.meta.url, { data: { bundled, ofGroup } })
