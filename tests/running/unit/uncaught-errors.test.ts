// Errors that nothing awaits fail the test in which they began, and not those beside it.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../../', import.meta.url))

t.test('an uncaught error fails its own test', async (t) => {
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--import=./tests/typescript.mjs', 'tests/fixtures/uncaught-errors.ts'],
    { cwd: root, encoding: 'utf8', env: { ...process.env, TAP: '1' } },
  )
  t.not(status, 0)
  const failed = stdout.match(/^ *not ok \d+ - [^#\n]+/gm)?.map((line) => line.replace(/^ *not ok \d+ - /, '').trim())
  for (const name of ['of a timer', 'a timer', 'of a promise', 'a promise', 'of an inner test']) {
    t.ok(failed?.includes(name), name)
  }
  t.match(stdout, /^ok \d+ - without an error/m)
  t.notOk(failed?.includes('after it') ?? true)
})
