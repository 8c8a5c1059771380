// Figures and logs of functions with several processes: any of them shows those of all.
import t from 'tap'
import { request } from 'node:http'
import type { FunctionLogs, FunctionReport } from '../../../server/services/console/function-protocol.ts'
import { withConsoleSession } from '../../../server/tools/console/console-session.ts'
import { childProcesses } from '../../support/child-processes.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { folderWith } from '../../support/function-server.ts'
import { says, startProgram } from '../../support/program.ts'

t.test('each process shows the calls and lines of all', async (t) => {
  const folder = await folderWith(t, {
    'functions/hello/index.ts': `Deno.serve((request) => {
      console.log(new URL(request.url).search)
      return new Response(String(process.ppid))
    })`,
    'config.toml': '[functions.hello]\nverify_jwt = false',
  })
  const database = await createMigratedDatabase()
  const program = startProgram(t, {
    DATABASE_URL: database.authenticatorUri,
    MIGRATION_DATABASE_URL: database.adminUri,
    FUNCTIONS_DIR: `${folder}/functions`,
    CONSOLE: 'on',
    SERVER_WORKERS: '2',
    PGRST_DB_POOL: '4',
  })
  t.teardown(async () => {
    program.kill('SIGKILL')
    await program.ended
    await database.drop()
  })
  await program.line(() => program.logged().filter(says('worker-serving')).length >= 2)

  type Received = { readonly body: string; readonly process: string }
  /** A request on a connection of its own, so that either process may get it. */
  const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Received> =>
    new Promise((resolve, reject) => {
      request(`${program.url()}${path}`, { agent: false, headers }, (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (piece: string) => (body += piece))
        response.once('end', () => resolve({ body, process: body }))
      })
        .once('error', reject)
        .end()
    })
  const shown = async <T>(path: string): Promise<T> =>
    withConsoleSession(
      async (text, values) => database.query(text, values),
      'test',
      async (headers) => {
        const { body } = await get(`/console/api/functions${path}`, headers)
        return (JSON.parse(body) as { readonly details: T }).details
      },
    )
  /** What is shown when both processes have answered in time, which a busy machine may prevent now and then. */
  const shownByBoth = async <T extends { readonly missing: number }>(path: string): Promise<T> => {
    for (;;) {
      const report = await shown<T>(path)
      if (report.missing === 0) return report
    }
  }

  let calls = 0
  const processes = new Set<string>()
  while (processes.size < 2 && calls < 1000) {
    // One after the other: their lines have different times.
    processes.add((await get(`/functions/v1/hello?${calls}`)).process)
    calls++
  }
  t.equal(processes.size, 2, `both processes were called: ${[...processes].join(', ')}`)
  const expected = Array.from({ length: calls }, (_, index) => `?${index}`).slice(-500)
  for (let look = 0; look < 12; look++) {
    const { functions, workers, running } = await shownByBoth<FunctionReport>('')
    t.match(functions, [{ name: 'hello', calls: { answered: calls, failed: 0 }, milliseconds: Number }])
    t.equal(running, 0)
    t.equal(workers?.started, 2, 'a worker process of each')
    const { lines } = await shownByBoth<FunctionLogs>('/hello/logs')
    t.strictSame(lines.map(({ message }) => message).sort(), expected.toSorted(), 'the lines of both')
    t.ok(
      lines.every(({ at }, index) => index === 0 || (lines[index - 1]?.at ?? '') <= at),
      'in the order of their times',
    )
  }
  t.same((await shownByBoth<FunctionLogs>('/nothing/logs')).lines, [])

  const [, stopped = 0] = await childProcesses(program.pid)
  process.kill(stopped, 'SIGSTOP')
  t.teardown(() => {
    try {
      process.kill(stopped, 'SIGCONT')
    } catch {
      // It has ended.
    }
  })
  // The process that is stopped still accepts connections.
  const partial = await Promise.any(Array.from({ length: 30 }, () => shown<FunctionReport>('')))
  t.match(partial, { missing: 1, functions: [{ name: 'hello' }] }, 'says that one is missing')
  const { calls: some } = partial.functions[0] ?? {}
  t.ok(some && some.answered > 0 && some.answered < calls, 'shows those of the other')
  process.kill(stopped, 'SIGCONT')
  t.match((await shownByBoth<FunctionReport>('')).functions, [{ calls: { answered: calls } }], 'it is back')
})
