// Parsers for the output of other programs: wrk, pgbench, /proc, V8's profiler.
import t from 'tap'
import { pgbenchScript, readPgbench } from '../../bench/pgbench.ts'
import { cpuSecondsOf, statusBytes } from '../../bench/process-usage.ts'
import { selfTimes } from '../../bench/profile.ts'
import { rawRequest } from '../../bench/request.ts'
import { readWrk } from '../../bench/wrk.ts'

t.test('the summary of wrk is parsed', async (t) => {
  const output = `Running 4s test @ http://127.0.0.1:3000
  Requests/sec:   1234.56
{"requests":5000,"microseconds":2500000,"p50":1.500,"p99":9.250,"status":7,"connect":1,"read":2,"write":3,"timeout":4}
`
  t.strictSame(readWrk(output), { requests: 5000, seconds: 2.5, p50: 1.5, p99: 9.25, refused: 7, broken: 10 })
  t.throws(() => readWrk('unable to connect'), { message: /no summary:\nunable to connect/ })
})

t.test('a request is written as bytes on the wire', async (t) => {
  const request = { method: 'POST', path: '/a?b=c', headers: { Accept: 'x/y' }, body: '"ü"' } as const
  const expected = 'HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAccept: x/y\r\nContent-Length: 4\r\n\r\n"ü"'
  t.equal(
    rawRequest(request, new URL('http://127.0.0.1:80/rest/v1')),
    `POST /rest/v1/a?b=c ${expected}`.replace(':80', ''),
  )
  const bare = rawRequest({ ...request, body: undefined }, new URL('http://127.0.0.1:3000'))
  t.equal(bare, 'POST /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:3000\r\nAccept: x/y\r\n\r\n')
})

t.test('transactions per second of pgbench are parsed', async (t) => {
  t.equal(readPgbench('latency average = 0.4 ms\ntps = 21031.25 (without initial connection time)\n'), 21031.25)
  t.throws(() => readPgbench('connection refused'), { message: /no summary/ })
})

t.test('a pgbench script is generated', async (t) => {
  const statements = (value: string) => [
    { text: 'select set_config($1, $2, true)', values: ['a', value] },
    { text: 'select $1::text', values: [null] },
  ]
  const hex = (text: string): string => `convert_from(decode('${Buffer.from(text).toString('hex')}', 'hex'), 'UTF8')`
  t.equal(
    pgbenchScript([statements(":x'"), statements('y')]),
    String.raw`\if :known = 0
select s0_1, s0_2, s1_1 from (values (0, ${hex('a')}, ${hex(":x'")}, null), (1, ${hex('a')}, ${hex('y')}, null)) as request (client, s0_1, s0_2, s1_1)
where client = :client_id \gset
\set known 1
\endif
\startpipeline
select set_config(:s0_1, :s0_2, true);
select :s1_1::text;
\endpipeline
`,
  )
  t.throws(() => pgbenchScript([statements('x'), [{ text: 'select 1', values: [] }]]), { message: /different/ })
  for (const text of ["select ':x'", 'select 1; select 2']) {
    t.throws(() => pgbenchScript([[{ text, values: [] }]]), { message: `pgbench cannot run: ${text}` })
  }
})

t.test('/proc/PID/stat is parsed', async (t) => {
  // A program name may look like the rest of the line.
  const stat = '42 (a) S 1 (b)) S 1 42 42 0 -1 4194560 900 0 0 0 250 50 7 8 20 0 11 0 100 1000 200'
  t.equal(cpuSecondsOf(stat), 3)
  t.equal(statusBytes('VmPeak:\t  10 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 4 kB\n', 'VmHWM'), 2 * 2 ** 20)
  t.equal(statusBytes('Threads: 1\n', 'VmHWM'), 0)
})

t.test('self times of a CPU profile, without idle time', async (t) => {
  const node = (id: number, functionName: string, url = '', lineNumber = -1) => ({
    id,
    callFrame: { functionName, url, lineNumber },
  })
  const profile = {
    nodes: [
      node(1, '(root)'),
      node(2, '(idle)'),
      node(3, 'parse', 'file:///somewhere/dist/rest/parse.js', 9),
      node(4, '(garbage collector)'),
      node(5, '', 'file:///somewhere/node_modules/pg/lib/client.js', 0),
      node(6, 'parse', 'file:///somewhere/dist/rest/parse.js', 9),
    ],
    samples: [1, 2, 3, 4, 5, 6],
    timeDeltas: [100, 1000, 30, 20, 10, 40],
  }
  t.strictSame(selfTimes(profile), [
    { where: 'parse dist/rest/parse.js:10', share: 0.7 },
    { where: '(garbage collector)', share: 0.2 },
    { where: '(anonymous) node_modules/pg/lib/client.js:1', share: 0.1 },
  ])
})
