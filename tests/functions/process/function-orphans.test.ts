// Workers of a server that was killed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { testRuntime } from '../../support/functions.ts'
import { until } from '../../support/until.ts'

const program = fileURLToPath(new URL('../../support/functions-process.ts', import.meta.url))

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('end by themselves, or when the next server runs a function, even one that computes without end', async (t) => {
  const server = spawn(process.execPath, [...process.execArgv, program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [output] = (await once(server.stdout, 'data')) as [Buffer]
  const { hanging, workers } = JSON.parse(String(output)) as { hanging: number; workers: number }
  t.equal(workers, 2)
  const folders = (): string[] =>
    readdirSync(tmpdir()).filter((name) => name.startsWith(`rowhouse-functions-${server.pid}-`))
  t.equal(folders().length, 1)
  // A folder of another program, whose name begins like those of a process that is gone.
  const other = mkdtempSync(join(tmpdir(), 'rowhouse-functions-4999999'))
  t.teardown(() => rmSync(other, { recursive: true }))
  server.kill('SIGKILL')
  await once(server, 'exit')
  t.ok(isRunning(hanging), 'computes on')
  const { read } = testRuntime(t)
  t.strictSame(await read('default-export', 'default-export'), [200, 'Hello from /default-export'])
  t.ok(await until(() => !isRunning(hanging)))
  t.ok(await until(() => folders().length === 0))
  t.ok(existsSync(other))
})
