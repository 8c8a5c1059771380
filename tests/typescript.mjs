// Loads TypeScript in tests: each file is compiled by esbuild once, then read from a folder of compiled files. In a test
// that starts the whole application this takes half the processor time of tsx. Types are checked by `npm run typecheck`.
//
// A test that needs most of the service gets its modules from one file (`support/server-bundle.ts`). ROWHOUSE_TEST_BUNDLE=0
// turns that off.
import { statfsSync } from 'node:fs'
import { register } from 'node:module'
import process from 'node:process'
import { isMainThread } from 'node:worker_threads'

const memory = '/dev/shm'

// Temporary files, and with them the databases, are kept in memory where 4 GiB are free: on a disk, creating a database
// takes ten times the processor time.
if (freeMemory() > 4 * 2 ** 30) process.env.TMPDIR ??= memory

// What tap loads to measure coverage takes a second of each child process that inherits it, and is of no use there.
const measuring = '@tapjs/processinfo'
process.execArgv = process.execArgv.filter((option) => !option.includes(measuring))
if (process.env.NODE_OPTIONS?.includes(measuring)) {
  process.env.NODE_OPTIONS = process.env.NODE_OPTIONS.replace(/"?--import=\S*@tapjs\/processinfo\S*/g, '').trim()
}

function freeMemory() {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize
  } catch {
    return 0
  }
}

// Of the programs in rooms of the server, too: child processes, which start in a quarter of the time.
const needsFew = !isMainThread || /\/tests\/unit\/|\/server\/.+\//.test(process.argv[1] ?? '')
const bundled = !needsFew && process.env.ROWHOUSE_TEST_BUNDLE !== '0'
register('./typescript-hooks.mjs', import.meta.url, { data: { bundled } })
