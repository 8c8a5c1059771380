// Functions that fail, hang, or take more than they may: they harm no other, and are replaced.
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { FunctionFailure } from '../../server/services/functions/runtime/function-failure.ts'
import { fixtureFunction, testRuntime } from '../support/functions.ts'
import { until } from '../support/until.ts'

const summary = ({ kind, status, code, detail }: FunctionFailure): unknown[] => [kind, status, code, detail]

t.test('an error of the handler is its response 500, with the stack in the log', async (t) => {
  const { read, log } = testRuntime(t)
  const [, before] = await read('faults', 'faults/fine')
  const failed = async (path: string, entry: RegExp): Promise<void> => {
    const length = log.length
    t.strictSame(await read('faults', `faults/${path}`, { requestId: path }), [500, 'Internal Server Error'], path)
    await until(() => log.length > length)
    t.match(log.slice(length), [{ level: 'error', requestId: path, function: 'faults', message: entry }])
  }
  await failed('throw', /^TypeError: thrown by the handler\n.*fixtures\/functions\/faults\/index\.ts:\d+:\d+/s)
  await failed('nothing', /The handler must return a Response/)
  await failed('used', /The body of the response has already been used/)
  await failed('exit', /A function cannot end its process: exit\(3\) was called/)
  await failed('process-exit', /A function cannot end its process: exit\(4\) was called/)
  await failed(`header?value=${encodeURIComponent('a\r\nset-cookie: forged=1')}`, /invalid header value/i)
  t.strictSame(await read('faults', 'faults/kill-others'), [200, '["EPERM"]'], 'signals reach no other process')
  t.strictSame(await read('faults', 'faults/fine'), [200, before], 'the same process')
})

t.test('errors outside of the handler end their call only, and the process after the others', async (t) => {
  const { read, log, runtime } = testRuntime(t)
  for (const path of ['rejection', 'exception']) {
    const [, before] = await read('faults', 'faults/fine')
    const other = read('faults', 'faults/fine?ms=800')
    await pause(50)
    t.strictSame(await read('faults', `faults/${path}`, { requestId: path }), [500, 'Internal Server Error'])
    t.ok(await until(() => log.some(({ requestId }) => requestId === path)))
    const [, after] = await read('faults', 'faults/fine')
    t.not(after, before, 'a new process')
    t.strictSame(await other, [200, before], 'the other call')
  }
  await until(() => runtime.statistics().workers === 1)
})

t.test('a process that dies fails its calls, and the next call gets a new one', async (t) => {
  const { read, failure, messages } = testRuntime(t)
  t.strictSame(summary(await failure('faults', 'faults/kill')), [
    'crashed',
    500,
    'WORKER_ERROR',
    'The process of the function ended by the signal SIGSEGV',
  ])
  t.match(messages(), ['The process of the function ended by the signal SIGSEGV'])
  const [status] = await read('faults', 'faults/fine')
  t.equal(status, 200)
  t.match(await failure('faults', 'faults/abort'), { kind: 'crashed', detail: /SIGABRT/ })
  const failed = failure('faults', 'faults/fine?ms=3000')
  await pause(300)
  await failure('faults', 'faults/kill')
  t.match(await failed, { kind: 'crashed' })
})

t.test('a process that writes to the file descriptor of its channel ends, and the server goes on', async (t) => {
  const { read, failure } = testRuntime(t)
  const refused = { kind: 'crashed', detail: /has written to file descriptor 3/ }
  for (const text of [
    'no JSON\n',
    'null\n',
    '5\n',
    '[]\n',
    '{"kind":"other"}\n',
    '{"kind":"failed"}\n',
    '{"kind":"pong","memory":"1"}\n',
    '{"kind":"log"}\n',
    '{"kind":"log","level":"__proto__","message":"x"}\n',
    '{"kind":"log","level":"info","message":"x","requestId":{}}\n',
    '{"kind":"ready"}\n{"kind":"ready"\n',
    '{"cmd":"NODE_HANDLE","type":"net.Socket"}\n',
  ]) {
    t.match(await failure('faults', `faults/descriptor?text=${encodeURIComponent(text)}`), refused, text)
    // A call that succeeds saves the next one the pause after failures.
    t.equal((await read('faults', 'faults/fine'))[0], 200)
  }
  t.match(await failure('faults', 'faults/descriptor?text=xxxxxxxxxx&times=200000'), refused, 'an endless line')
  t.match(await failure('faults', 'faults/close-descriptor'), { kind: 'crashed' }, 'closed')
  t.equal((await read('faults', 'faults/fine'))[0], 200)
})

t.test('a function that crashes at each call is started again after growing pauses', async (t) => {
  const { failure, runtime } = testRuntime(t, { timeoutMs: 2500 })
  const until = performance.now() + 2000
  const attack = async (): Promise<void> => {
    while (performance.now() < until) await failure('faults', 'faults/kill')
  }
  await Promise.all([attack(), attack(), attack()])
  const { started } = runtime.statistics()
  t.ok(started < 10, `${started} processes in two seconds`)
})

t.test('a function that computes without end is killed, and harms no other', async (t) => {
  const { read, failure, runtime, messages } = testRuntime(t, { blockedMs: 8000, workers: 2 })
  await read('faults', 'faults/fine')
  const hanging = failure('faults', 'faults/hang')
  const innocent = failure('faults', 'faults/fine?ms=200')
  t.strictSame(await read('default-export', 'default-export'), [200, 'Hello from /default-export'], 'another function')
  await pause(1500)
  const [status] = await read('faults', 'faults/fine')
  t.equal(status, 200, 'a call to the same function gets a new process')
  t.equal(runtime.statistics().killed, 0, 'before the other one is killed')
  t.strictSame(summary(await hanging), [
    'cpu',
    546,
    'WORKER_LIMIT',
    'The function computed for 8000 ms without a pause',
  ])
  t.match(await innocent, { kind: 'cpu' }, 'calls in the same process fail with it')
  t.equal(runtime.statistics().killed, 1)
  t.ok(messages().includes('The function computed for 8000 ms without a pause'))
})

t.test('a call that takes too long', async (t) => {
  const limits = { timeoutMs: 30_000 }
  const { read, failure, invoke, runtime } = testRuntime(t, limits)
  const [, before] = await read('faults', 'faults/fine')
  // The processes of the functions have started.
  await read('streams', 'streams/state')
  limits.timeoutMs = 5000
  t.strictSame(summary(await failure('faults', 'faults/never')), [
    'timed out',
    504,
    'IDLE_TIMEOUT',
    'The call took longer than 5000 ms',
  ])
  limits.timeoutMs = 30_000
  const [, after] = await read('faults', 'faults/fine')
  limits.timeoutMs = 5000
  t.not(after, before, 'what it left behind ends with its process')
  const { body } = await invoke('streams', 'streams/events')
  const [error] = (await once(body.resume(), 'error')) as [unknown]
  t.match(error, { kind: 'timed out' }, 'the response breaks off')
  await until(() => runtime.statistics().calls === 0)
  // Does not compute, as the function above does that is killed for it.
  t.match(await failure('faults', 'faults/block'), { kind: 'timed out' })
})

t.test('memory', async (t) => {
  const { failure, read, runtime } = testRuntime(t, { memoryMegabytes: 64 })
  const detail = 'The function used more than 64 MB of memory'
  for (const path of ['heap', 'buffers', 'sync-buffers']) {
    t.strictSame(summary(await failure('faults', `faults/${path}`)), ['memory', 546, 'WORKER_LIMIT', detail], path)
    const [status] = await read('faults', 'faults/fine')
    t.equal(status, 200)
  }
  t.equal(runtime.statistics().killed, 3)
})

t.test('sizes of requests and responses', async (t) => {
  const { failure, read, invoke, runtime } = testRuntime(t, { requestBytes: 1_000_000, responseBytes: 2_000_000 })
  const declared = [['content-length', '1000001']] as const
  const started = runtime.statistics().started
  t.match(await failure('streams', 'streams/size', { body: 'x', headers: declared }), {
    kind: 'request too large',
    status: 413,
  })
  t.equal(runtime.statistics().started, started, 'refused before a process is started')
  const endless = new Readable({ read: () => void endless.push(Buffer.alloc(65536)) })
  t.match(await failure('streams', 'streams/size', { body: endless }), { kind: 'request too large', status: 413 })
  t.equal(endless.destroyed, false)
  endless.destroy()
  t.match(
    await failure('faults', 'faults/declared'),
    { kind: 'response too large', status: 500 },
    'before its first byte',
  )
  const { body } = await invoke('faults', 'faults/endless')
  t.match(await text(body).catch((error: unknown) => error), { kind: 'response too large' })
  t.strictSame(await read('streams', 'streams/size', { body: 'x'.repeat(1_000_000) }), [200, '{"size":1000000}'])
  await until(() => runtime.statistics().calls === 0)
})

t.test('a response that breaks off', async (t) => {
  const { invoke, messages } = testRuntime(t)
  const { body } = await invoke('streams', 'streams/breaks')
  t.match(await text(body).catch((error: unknown) => error), { kind: 'crashed' })
  await until(() => messages().some((message) => message.includes('the source of the stream broke')))
})

t.test(
  'a response whose length is another than it says breaks off, and no other call receives its bytes',
  async (t) => {
    const { read, failure, messages } = testRuntime(t)
    t.strictSame(await read('faults', 'faults/length?length=12'), [200, 'twelve bytes'])
    for (const length of [1, 100]) {
      const before = performance.now()
      const others = Array.from({ length: 20 }, () => read('faults', 'faults/fine?ms=10'))
      t.match(await failure('faults', `faults/length?length=${length}`), { kind: 'crashed' })
      t.ok(performance.now() - before < 25_000, 'before the call takes too long')
      for (const [status, body] of await Promise.all(others)) t.match([status, body], [200, /^fine \d+$/])
      t.match((await read('faults', 'faults/fine'))[1], /^fine \d+$/)
    }
    await until(() => messages().filter((message) => message.includes('content-length')).length === 2)
  },
)

t.test('a request whose length is another than it says ends its call only', async (t) => {
  const { read, failure } = testRuntime(t)
  for (const [length, path, kind] of [
    ['100', 'streams/size', 'crashed'],
    ['100', 'streams/unread', undefined],
    ['3', 'streams/size', 'request too large'],
  ] as const) {
    const headers = [['content-length', length]] as const
    const call = { body: 'twelve bytes', headers }
    if (kind === undefined) await read('streams', path, call).catch(() => undefined)
    else t.match(await failure('streams', path, call), { kind }, path)
    const others = Array.from({ length: 5 }, () => read('streams', 'streams/size', { body: 'other' }))
    for (const other of await Promise.all(others)) t.strictSame(other, [200, '{"size":5}'])
  }
})

t.test('a response cannot speak about the connection', async (t) => {
  const { invoke } = testRuntime(t)
  const { headers, body } = await invoke('faults', 'faults/forge')
  t.strictSame(headers, [['content-type', 'text/plain;charset=UTF-8']])
  body.destroy()
})

t.test('a flood of log entries is cut, and the call completes', async (t) => {
  const { read, log, runtime } = testRuntime(t)
  t.strictSame(await read('faults', 'faults/flood'), [200, 'flooded'])
  await pause(300)
  t.ok(log.length < 10_000, `${log.length} entries of 200,000`)
  const kept = runtime.logs('faults').reduce((sum, { message }) => sum + 2 * message.length, 0)
  t.ok(kept <= 256 * 1024, `${kept} bytes are kept`)
  await pause(2000)
  t.strictSame(await read('faults', 'faults/long-line'), [200, 'logged'])
  t.ok(await until(() => log.at(-1)?.message.startsWith('yyy') === true))
  t.match(log.at(-2)?.message, /^\d+ entries are missing: the function logs faster/)
  t.match(log.at(-1)?.message, /^y{10000}… \(1000000 characters\)$/)
})

t.test('functions that do not start', async (t) => {
  const { failure, runtime } = testRuntime(t)
  const detail = async (name: string): Promise<string> => {
    const failed = await failure(name, name)
    t.match(failed, { kind: 'boot', status: 503, code: 'BOOT_ERROR' }, name)
    t.strictSame(JSON.parse(JSON.stringify(failed)), {
      code: 'BOOT_ERROR',
      message: 'Worker failed to boot (please check logs)',
    })
    t.ok(
      runtime.logs(name).some(({ message }) => message === failed.detail),
      'the reason is in the log',
    )
    return failed.detail
  }
  t.match(await detail('broken-syntax'), /^functions\/broken-syntax\/index\.ts:2:35: Unterminated string literal\n/)
  t.match(
    await detail('missing-package'),
    /missing-package\/index\.ts:1:20: The package of "npm:not-installed-here@\^11\.16\.0" is not installed, or has no such file\. Run: npm install 'not-installed-here@\^11\.16\.0'\n/,
  )
  t.match(
    await detail('remote-import'),
    /Cannot import "https:\/\/deno\.land\/x\/some_module@v1\.0\.0\/mod\.ts": nothing is downloaded/,
  )
  t.match(await detail('outside'), /"..\/..\/..\/..\/package\.json" is outside of the project/)
  t.match(await detail('throws-at-load'), /^Error: API_KEY is not set\n.*throws-at-load\/index\.ts:2/s)
  t.match(await detail('serves-nothing'), /^The function serves nothing\. Call Deno\.serve/)

  t.test('are not started again and again', async (t) => {
    const { started } = runtime.statistics()
    for (let call = 0; call < 20; call++) await failure('throws-at-load', 'x')
    t.ok(runtime.statistics().started - started <= 2)
  })

  t.test('start when they are changed', async (t) => {
    const { read } = testRuntime(t)
    t.match(await read('throws-at-load', 'x').catch((error: unknown) => error), { kind: 'boot' })
    const changed = fixtureFunction('throws-at-load', { environment: { API_KEY: 'k' }, version: '2' })
    t.strictSame(await read(changed, 'x'), [200, 'fine'])
  })

  t.test('are found without running them', async (t) => {
    t.equal(await runtime.check(fixtureFunction('echo')), undefined)
    t.match(await runtime.check(fixtureFunction('missing-package')), { kind: 'boot', detail: /npm install/ })
  })
})

t.test('too many calls and processes', async (t) => {
  const { read, failure, runtime } = testRuntime(t, { concurrency: 4, workers: 2, totalWorkers: 2 })
  const calls = Array.from({ length: 4 }, () => read('faults', 'faults/fine?ms=3000'))
  await pause(20)
  t.match(await failure('faults', 'faults/fine'), { kind: 'busy', status: 503 })
  await until(() => runtime.statistics().workers === 2)
  t.match(await failure('default-export', 'x'), { kind: 'busy', detail: 'Functions have 2 workers already' })
  const processes = new Set((await Promise.all(calls)).map(([, body]) => body))
  t.equal(processes.size, 2)
  t.strictSame(await read('default-export', 'x'), [200, 'Hello from /x'], 'an idle process makes room')
})

t.test('the end of the runtime waits for calls, and leaves no process', async (t) => {
  const { read, runtime, failure } = testRuntime(t)
  const [, before] = await read('faults', 'faults/fine')
  const slow = read('faults', 'faults/fine?ms=500')
  await pause(50)
  const stopped = runtime.stop()
  t.match(await failure('faults', 'faults/fine'), { kind: 'busy' })
  t.strictSame(await slow, [200, before])
  await stopped
  t.throws(() => process.kill(Number(before.split(' ')[1]), 0), { code: 'ESRCH' })
})

t.test('the end of the runtime cuts what does not end', async (t) => {
  const { failure, runtime, invoke } = testRuntime(t)
  const { body } = await invoke('streams', 'streams/events')
  const failures = Promise.all([failure('faults', 'faults/never'), failure('streams', 'streams/slow')])
  const broken = once(body.resume(), 'error')
  await pause(500)
  const before = performance.now()
  await runtime.stop()
  t.ok(performance.now() - before < 25_000, 'before the calls take too long')
  t.match(await failures, [{ kind: 'busy', detail: 'The server stops' }, { kind: 'busy' }])
  t.match(await broken, [{ kind: 'busy' }])
  t.strictSame(runtime.statistics().workers, 0)
})

t.test('callers that give up while the function starts', async (t) => {
  const { invoke, read, runtime } = testRuntime(t)
  const callers = Array.from({ length: 50 }, () => new AbortController())
  const calls = callers.map(({ signal }) =>
    invoke('faults', 'faults/fine', { signal }).catch((error: unknown) => error),
  )
  for (const [index, caller] of callers.entries()) {
    if (index % 10 === 0) await pause(10)
    caller.abort(new Error('gone'))
  }
  const results = await Promise.all(calls)
  t.ok(results.every((result) => result instanceof Error && result.message === 'gone'))
  t.equal(runtime.statistics().calls, 0)
  const [status] = await read('faults', 'faults/fine')
  t.equal(status, 200)
})

t.test('a request whose body breaks off, and a response that is not read, are no errors of the process', async (t) => {
  const limits = { timeoutMs: 30_000 }
  const { invoke, read, runtime } = testRuntime(t, limits)
  const broken = new Readable({ read: () => undefined })
  const call = invoke('streams', 'streams/size', { body: broken }).catch((error: unknown) => error)
  broken.push('some')
  await pause(300)
  broken.destroy(new Error('the source broke'))
  t.match(await call, { message: 'the source broke' })
  limits.timeoutMs = 5000
  const { body } = await invoke('streams', 'streams/events')
  await until(() => body.destroyed)
  await until(() => runtime.statistics().calls === 0)
  limits.timeoutMs = 30_000
  t.strictSame(await read('streams', 'streams/many?bytes=1'), [200, 'A'])
})
