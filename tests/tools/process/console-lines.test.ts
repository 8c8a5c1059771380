// The log on a terminal, and `serve` on a real terminal.
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import pg from 'pg'
import t, { type Test } from 'tap'
import { consoleLines, milliseconds } from '../../../server/running/operations/console-lines.ts'
import { createLog } from '../../../server/running/operations/log.ts'
import type { LogEvent } from '../../../server/running/operations/log-event.ts'
import { command } from '../../support/program.ts'
import { until } from '../../support/until.ts'

const escape = String.fromCharCode(27)
const databaseError = Object.assign(new Error('no route'), { code: '57P03' })
const request: LogEvent = {
  kind: 'request',
  method: 'GET',
  path: '/rest/v1/items',
  status: 200,
  duration: 3.514,
  role: 'anon',
  requestId: 'r',
  aborted: false,
}

/** The terminal output for an event, without the time. */
function shown(event: LogEvent, colors = false): string {
  let text = ''
  const destination = consoleLines({ write: (line) => (text += line), colors, hidden: ['listening'] })
  createLog({ level: 'debug', destination }).write(event)
  return text.replace(/^(?:\S\[2m)?\d\d:\d\d:\d\d(?:\S\[22m)? {2}/, '')
}

t.test('events are formatted as lines for terminals', async (t) => {
  const rows: readonly (readonly [LogEvent, string])[] = [
    [{ kind: 'starting', version: '1.2.3' }, 'Starting rowhouse 1.2.3\n'],
    [
      { kind: 'schema-cache-loaded', duration: 64.68536999999992, summary: '3 Relations' },
      'Schema cache loaded 3 Relations (64.7 ms)\n',
    ],
    [{ kind: 'migrated', applied: ['1_roles.sql'] }, 'Applied 1 migrations\n'],
    [request, 'GET /rest/v1/items 200 3.51 ms, anon\n'],
    [{ ...request, status: 404, role: null }, 'GET /rest/v1/items 404 3.51 ms\n'],
    [{ ...request, aborted: true }, 'GET /rest/v1/items 200 3.51 ms, anon, client disconnected\n'],
    [{ ...request, path: `/a${escape}[2Jb` }, 'GET /a\ufffd[2Jb 200 3.51 ms, anon\n'],
    [
      { kind: 'database-lost', error: databaseError, retryInSeconds: 2 },
      'No connection to the database; retrying in 2 s\n          no route (57P03)\n',
    ],
    [
      { kind: 'query', status: 200, requestId: 'r', text: 'select 1\nfrom a' },
      'Query\n          select 1\n          from a\n',
    ],
    [{ kind: 'listening', address: 'http://127.0.0.1:3000' }, ''],
    [{ kind: 'pool-created', size: 10 }, ''],
  ]
  for (const [event, expected] of rows) t.equal(shown(event), expected, event.kind)
  t.match(
    shown({ kind: 'failure', error: new TypeError('x is not a function'), requestId: null }),
    /^Unexpected error\n {10}TypeError: x is not a function\n {14}at /,
  )
})

t.test('colours', async (t) => {
  const rows: readonly (readonly [LogEvent, string])[] = [
    [request, `${escape}[32m200${escape}[39m`],
    [{ ...request, status: 404 }, `${escape}[33m404${escape}[39m`],
    [{ ...request, status: 500 }, `${escape}[31m500${escape}[39m`],
    [{ kind: 'warning', message: 'mind this' }, `${escape}[33mmind this${escape}[39m`],
  ]
  for (const [event, expected] of rows) {
    t.ok(shown(event, true).includes(expected), expected)
    t.notOk(shown(event).includes(escape))
  }
})

t.test('durations are rounded', async (t) => {
  const rows: readonly (readonly [number, string])[] = [
    [0, '0 ms'],
    [0.3514, '0.35 ms'],
    [3.5, '3.5 ms'],
    [64.68536999999992, '64.7 ms'],
    [1250.4, '1,250 ms'],
  ]
  for (const [duration, expected] of rows) t.equal(milliseconds(duration), expected)
})

/** Runs `serve` on a pseudo-terminal until it is ready, presses Ctrl-C, and returns the output. */
async function onTerminal(t: Test, dataDir: string, env: Record<string, string>): Promise<string> {
  // Without `exec`, a shell that stays in between ends by Ctrl-C, too, and its exit code is not that of the program.
  const words = ['exec', ...[...command(), 'serve'].map((word) => `'${word}'`)].join(' ')
  // The `script` of util-linux has different options.
  const args = process.platform === 'linux' ? ['-qec', words, '/dev/null'] : ['-q', '/dev/null', '/bin/sh', '-c', words]
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(PGRST_|PG|DATABASE_URL|MIGRATION_|DATA_DIR|REST_|NO_COLOR|FORCE_COLOR|CI$)/.test(name),
  )
  const child = spawn('script', args, {
    env: { ...Object.fromEntries(inherited), TERM: 'xterm', PORT: '0', DATA_DIR: dataDir, ...env },
  })
  t.teardown(() => child.kill())
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const wasReady = text.includes('Ctrl-C stops')
    text += chunk
    if (!wasReady && text.includes('Ctrl-C stops'))
      check().catch((error: unknown) => void (child.kill(), t.fail(String(error))))
  })
  const check = async (): Promise<void> => {
    const plain = stripVTControlCharacters(text)
    const [, address = 'the URL of the database is missing'] = /postgresql:\/\/postgres@(\S+)/.exec(plain) ?? []
    const [file = '', ...words] = command()
    const asking = promisify(execFile)(file, [...words, 'url'], { env: { ...process.env, DATA_DIR: dataDir } })
    const uri = (await asking).stdout.trim()
    t.ok(uri.includes(`@${address}`), 'the URL, whose password another command prints')
    const { user } = JSON.parse(await readFile(join(dataDir, 'keys.json'), 'utf8')) as { user: { password: string } }
    for (const secret of [user.password, new URL(uri).password])
      t.notOk(text.includes(secret), 'no password is printed')
    const client = new pg.Client({ connectionString: uri })
    await client.connect()
    t.strictSame((await client.query('select current_user as name')).rows, [{ name: 'postgres' }], 'psql can connect')
    await client.end()
    const [, url = ''] = /ready at (\S+)/.exec(plain) ?? []
    t.equal((await fetch(`${url}/docs/`)).status, 200)
    // Ctrl-C discards what the terminal has not passed on (`NOFLSH` in termios(3)).
    t.ok(await until(() => stripVTControlCharacters(text).includes('GET /docs/ 200')), 'the request has its line')
    child.stdin.write('\u0003')
  }
  const code = await new Promise((resolve) => child.once('close', resolve))
  t.equal(code, 0, text)
  return text.replaceAll('\r\n', '\n')
}

t.test('serve writes readable lines to a terminal', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-terminal-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')

  const painted = await onTerminal(t, dataDir, {})
  t.ok(painted.includes(`${escape}[32m`))
  // The terminal echoes the key that ends the server, on whatever line it is then.
  const lines = stripVTControlCharacters(painted.replace('^C', '')).split('\n')
  t.notOk(
    lines.some((line) => line.startsWith('{')),
    'no JSON',
  )
  t.ok(lines.some((line) => /^\d\d:\d\d:\d\d {2}Starting rowhouse /.test(line)))
  t.ok(lines.some((line) => /^\d\d:\d\d:\d\d {2}Schema cache loaded .* \([\d.,]{1,5} ms\)$/.test(line)))
  t.ok(lines.some((line) => /^\d\d:\d\d:\d\d {2}GET \/docs\/ 200 /.test(line)))
  t.ok(lines.some((line) => /^\d\d:\d\d:\d\d {2}Stopped$/.test(line)))
  t.ok(lines.findIndex((line) => line.includes('is ready at')) < 12, 'only a few lines before it is ready')

  const plain = await onTerminal(t, dataDir, { NO_COLOR: '1' })
  t.notOk(plain.includes(escape), 'NO_COLOR is honoured')
})
