// The metrics of all workers at the admin server of the first one, also while one of them hangs or is replaced.
import t from 'tap'
import { request } from 'node:http'
import { joinedMetrics } from '../../../server/running/worker-metrics.ts'
import { createFilmDatabase } from '../../support/authenticator.ts'
import { childProcesses } from '../../support/child-processes.ts'
import { freePort } from '../../support/free-port.ts'
import { says, startProgram } from '../../support/program.ts'

t.test('the lines of each metric are together, as both formats require', async (t) => {
  const one = (worker: number, lines: readonly string[] = []): string =>
    [
      '# HELP a_total A',
      '# TYPE a_total counter',
      `a_total{worker="${worker}"} 1`,
      '',
      '# HELP b B',
      '# TYPE b gauge',
      ...lines,
      '',
    ].join('\n')
  const head = '# HELP a_total A\n# TYPE a_total counter\na_total{worker="0"} 1'
  const up =
    '# HELP rowhouse_worker_up Whether these metrics include those of the worker\n# TYPE rowhouse_worker_up gauge'
  t.equal(
    joinedMetrics([one(0), undefined, one(2, ['b{worker="2",x="# HELP "} 5'])], false),
    [
      `${head}\na_total{worker="2"} 1`,
      '# HELP b B\n# TYPE b gauge\nb{worker="2",x="# HELP "} 5',
      `${up}\nrowhouse_worker_up{worker="0"} 1\nrowhouse_worker_up{worker="1"} 0\nrowhouse_worker_up{worker="2"} 1\n`,
    ].join('\n\n'),
  )
  t.equal(
    joinedMetrics([`${head}\n# EOF\n`, undefined], true),
    `${head}\n${up}\nrowhouse_worker_up{worker="0"} 1\nrowhouse_worker_up{worker="1"} 0\n# EOF\n`,
  )
})

t.test('a scrape has the metrics of all workers that answer', async (t) => {
  const { anonymous, uri } = await createFilmDatabase(t, 1)
  const port = await freePort()
  const program = startProgram(t, {
    DATABASE_URL: uri,
    PGRST_DB_ANON_ROLE: anonymous,
    SERVER_WORKERS: '2',
    PGRST_DB_POOL: '4',
    PGRST_ADMIN_SERVER_PORT: String(port),
  })
  const serving = (count: number): Promise<unknown> =>
    program.line(() => program.logged().filter(says('worker-serving')).length >= count)
  const scrape = async (accept = 'text/plain', limit = 60_000): Promise<string> => {
    const signal = AbortSignal.timeout(limit)
    return (await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { accept }, signal })).text()
  }
  /** Values by worker. */
  const valuesIn = (text: string, name: string, label = ''): Record<string, number> => {
    const values: Record<string, number> = {}
    for (const line of text.split('\n')) {
      if (!line.startsWith(`${name}{`) || !line.includes(label)) continue
      const worker = /worker="(\d)"/.exec(line)?.[1] ?? 'none'
      values[worker] = (values[worker] ?? 0) + Number(line.slice(line.lastIndexOf('} ') + 2))
    }
    return values
  }
  const sumOf = (values: Record<string, number>): number => Object.values(values).reduce((sum, value) => sum + value, 0)
  const up = (text: string): Record<string, number> => valuesIn(text, 'rowhouse_worker_up')
  /** A scrape that both workers have answered in time, which a busy machine may prevent now and then. */
  const scrapeBoth = async (accept?: string): Promise<string> => {
    for (;;) {
      const text = await scrape(accept)
      if (up(text)[1] === 1) return text
    }
  }
  /** A read on a connection of its own, so that either worker may get it. */
  const read = (): Promise<void> =>
    new Promise((resolve, reject) => {
      request(`${program.url()}/rest/v1/films`, { agent: false }, (response) => response.resume().once('end', resolve))
        .once('error', reject)
        .end()
    })
  const served = (text: string): Record<string, number> =>
    valuesIn(text, 'http_request_duration_seconds_count', 'route="films"')

  await serving(2)
  let reads = 0
  let text: string
  do {
    await Promise.all(Array.from({ length: 20 }, read))
    reads += 20
    text = await scrapeBoth()
  } while (Object.keys(served(text)).length < 2 && reads < 2000)
  t.equal(sumOf(served(text)), reads, `the requests of both: ${JSON.stringify(served(text))}`)
  t.strictSame(Object.keys(served(text)), ['0', '1'], 'both have served some')
  t.strictSame(up(text), { 0: 1, 1: 1 })
  t.strictSame(valuesIn(text, 'pgrst_db_pool_max'), { 0: 2, 1: 2 }, 'their shares of the pool')
  const types = Array.from(text.matchAll(/^# TYPE (\S+) /gm), ([, name]) => name)
  t.equal(new Set(types).size, types.length, 'each metric once')

  const openMetrics = await scrapeBoth('application/openmetrics-text')
  t.match(openMetrics, /^# TYPE pgrst_db_pool_timeouts counter\npgrst_db_pool_timeouts_total\{worker="0"\} 0\n/m)
  t.equal(openMetrics.split('# EOF\n').length, 2, 'one end')
  t.ok(openMetrics.endsWith('\n# EOF\n'))
  const atOnce = await Promise.all(
    Array.from({ length: 10 }, (_, index) => scrapeBoth(index % 2 ? 'application/openmetrics-text' : '')),
  )
  for (const one of atOnce) t.strictSame(up(one), { 0: 1, 1: 1 }, 'scrapes at once')

  const children = await childProcesses(program.pid)
  let stopped: number | undefined
  for (const pid of children) {
    process.kill(pid, 'SIGSTOP')
    t.teardown(() => {
      try {
        process.kill(pid, 'SIGCONT')
      } catch {
        // It has ended.
      }
    })
    const text = await scrape('', 10_000).catch(() => undefined)
    if (text !== undefined) {
      stopped = pid
      t.strictSame(up(text), { 0: 1, 1: 0 }, 'a worker that hangs is missing')
      t.strictSame(Object.keys(served(text)), ['0'])
      break
    }
    // The first worker has the admin server.
    process.kill(pid, 'SIGCONT')
  }
  if (stopped === undefined) throw new Error('neither scrape was answered')
  const since = performance.now()
  for (let time = 0; time < 20; time++) t.strictSame(up(await scrape()), { 0: 1, 1: 0 })
  const took = performance.now() - since
  t.ok(took < 20 * 1000, `only the first scrape waits for it: ${Math.round(took)} ms for 20`)

  process.kill(stopped, 'SIGCONT')
  text = await scrapeBoth()
  t.equal(sumOf(served(text)), reads, 'it is back, with its counts')

  process.kill(stopped, 'SIGKILL')
  await program.line(says('worker-ended'))
  t.strictSame(up(await scrape())[0], 1, 'the answer does not wait for the replacement')
  await serving(3)
  text = await scrapeBoth()
  t.equal(served(text)[1], undefined, 'the replacement begins at 0')
  t.ok((served(text)[0] ?? 0) > 0, 'the other one goes on')

  program.kill('SIGTERM')
  t.equal(await program.ended, 0)
})
