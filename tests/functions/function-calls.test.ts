// What functions receive and return, and what they use of Deno.
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { json, text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { fixtureFunction, testRuntime } from '../support/functions.ts'
import { until } from '../support/until.ts'

t.test('a request reaches the function as it is, and its response the caller', async (t) => {
  const { invoke, log } = testRuntime(t)
  const response = await invoke('echo', 'echo/some%20path?a=1&a=2', {
    method: 'PUT',
    body: 'raw \u0000 bytes \u00e9',
    headers: [
      ['Content-Type', 'text/plain'],
      ['X-Own', 'one'],
      ['X-Own', 'two'],
      ['Connection', 'keep-alive, X-Listed'],
      ['X-Listed', 'belongs to the connection'],
      ['Transfer-Encoding', 'chunked'],
      ['Upgrade', 'websocket'],
      ['X-Rowhouse-Request', 'forged'],
      ['X-Forwarded-For', '203.0.113.5, 10.0.0.1'],
    ],
  })
  t.equal(response.status, 201)
  t.strictSame(
    response.headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`),
    [
      'access-control-allow-headers: authorization, x-client-info, apikey, content-type',
      'access-control-allow-origin: *',
      'content-type: application/json',
      'set-cookie: a=1',
      'set-cookie: b=2',
    ],
  )
  t.strictSame(await json(response.body), {
    method: 'PUT',
    url: 'http://functions.test/echo/some%20path?a=1&a=2',
    headers: {
      'content-type': 'text/plain',
      host: 'functions.test',
      'x-own': 'one, two',
      'x-forwarded-for': '203.0.113.5, 10.0.0.1',
    },
    body: Buffer.from('raw \u0000 bytes \u00e9').toString('base64'),
    client: '203.0.113.5',
  })
  t.strictSame(log, [])
})

t.test('responses without a body', async (t) => {
  const { invoke } = testRuntime(t)
  const head = await invoke('streams', 'streams/many?bytes=10', { method: 'HEAD' })
  t.strictSame([head.status, await text(head.body)], [200, ''])
  for (const status of [204, 304]) {
    const { headers, ...response } = await invoke('streams', `streams/empty?status=${status}`, { method: 'DELETE' })
    t.strictSame([response.status, await text(response.body), headers], [status, '', [['x-kept', 'yes']]])
  }
})

t.test('temporary files that the system has removed are written again', async (t) => {
  const { read, runtime } = testRuntime(t, { idleMs: 50 })
  await read('default-export', 'x')
  await until(() => runtime.statistics().workers === 0)
  const own = (name: string): boolean => name.startsWith(`rowhouse-functions-${process.pid}-`)
  for (const name of readdirSync(tmpdir()).filter(own)) rmSync(join(tmpdir(), name), { recursive: true })
  t.strictSame(await read('default-export', 'x'), [200, 'Hello from /x'])
  t.strictSame(await read('old-serve', 'x'), [200, 'served GET'])
})

t.test('each way to serve', async (t) => {
  const { read } = testRuntime(t)
  t.strictSame(await read('default-export', 'default-export/x'), [200, 'Hello from /default-export/x'])
  t.strictSame(await read('old-serve', 'old-serve', { body: 'x' }), [200, 'served POST'])
  t.strictSame(await read('express', 'express/hello'), [200, 'Hello'])
  const headers = [['content-type', 'application/json']] as const
  t.strictSame(await read('express', 'express/hello', { body: '{"name":"Ada"}', headers }), [202, '{"hello":"Ada"}'])
})

t.test('packages, import maps and JSX', async (t) => {
  const { read, messages } = testRuntime(t)
  const imports = fixtureFunction('imports')
  const importMap = imports.entrypoint.replace('index.ts', 'deno.jsonc')
  t.strictSame(await read({ ...imports, importMap }, 'imports/all'), [200, '["function","*","function","61",64]'])
  t.match(messages(), [
    /imports\/index\.ts:3:21: "https:\/\/esm\.sh\/v135\/picocolors@1\.0\.0\?target=deno" runs with version 1\.\d+\.\d+, which is installed\. If it should not: npm install picocolors@1\.0\.0/,
  ])
  const jsx = fixtureFunction('jsx')
  const withJsx = { ...jsx, importMap: jsx.entrypoint.replace('index.tsx', 'deno.json') }
  t.strictSame(await read(withJsx, 'jsx'), [200, '<main class="page">Hello world</main>'])
})

t.test('Deno and the environment', async (t) => {
  process.env.SECRET_OF_THE_SERVER = 'secret'
  t.teardown(() => delete process.env.SECRET_OF_THE_SERVER)
  const { invoke } = testRuntime(t)
  const environment = { SUPABASE_URL: 'http://localhost', API_KEY: 'k' }
  const run = async (task: string, parameter = ''): Promise<unknown> =>
    json(
      (
        await invoke(
          fixtureFunction('deno', { environment }),
          `deno?task=${task}&with=${encodeURIComponent(parameter)}`,
        )
      ).body,
    )
  t.strictSame(await run('environment'), { all: environment, node: environment, has: true, none: null })
  t.equal(await run('set'), 'blue')
  t.equal(await run('text', './page.html'), '<h1>Page</h1>\n')
  t.equal(await run('textSync', 'page.html'), '<h1>Page</h1>\n')
  t.equal(await run('url'), '<h1>Page</h1>\n')
  t.equal(await run('bytes', 'page.html'), 14)
  t.strictSame(await run('json'), { answer: 42 })
  t.equal(await run('lazy'), 'loaded when needed')
  t.strictSame(await run('meta'), [true, true, true])
  t.equal(await run('version'), 'string')
  t.strictSame(await run('web'), ['function', { id: '7' }])
  t.equal(await run('build'), 'string')
  t.equal(await run('notFound', 'absent.txt'), true)
  const notAvailable = (name: string): string =>
    `NotSupported: Deno.${name} is not available in functions of this server`
  t.equal(await run('write'), notAvailable('writeTextFile'))
  t.equal(await run('command'), notAvailable('Command'))
  t.equal(await run('socket'), notAvailable('upgradeWebSocket'))
  t.equal(await run('twice'), 'AddrInUse: The function serves already: call Deno.serve once')

  t.test('what it may not do', async (t) => {
    for (const path of ['../echo/index.ts', '/etc/passwd', 'file:///etc/passwd', '../deno-other/x', 'link.json']) {
      t.match(await run('text', path), /^NotCapable: The function may not read ".*": only files of its folder/, path)
      t.match(await run('textSync', path), /^NotCapable: /, path)
    }
    t.match(await run('nodeRead', '/etc/passwd'), /^Error: .*restricted/)
    t.match(await run('parent'), /^Error: .*restricted/, 'the environment of the server')
    t.match(await run('nodeWrite'), /^Error: .*restricted/)
    t.match(await run('nodeProcess'), /^Error: .*restricted/)
    t.match(await run('nodeListen'), /^NotSupported: A function cannot listen on a port/)
    t.equal(await run('send'), 'undefined')
  })
})

t.test('streams', async (t) => {
  const { invoke, read, runtime } = testRuntime(t)
  const state = async (): Promise<unknown> => json((await invoke('streams', 'streams/state')).body)

  t.test('events arrive while the response goes on, and a hang-up ends it', async (t) => {
    const { body, headers } = await invoke('streams', 'streams/events')
    t.ok(headers.some(([name, value]) => name === 'content-type' && value === 'text/event-stream'))
    const [first] = (await once(body, 'data')) as [Buffer]
    t.equal(String(first), 'data: first\n\n')
    await once(body, 'data')
    body.destroy()
    t.ok(await until(async () => isDeepStrictEqual(await state(), { begun: 0, cancelled: 1, aborted: 1 })))
    t.ok(await until(() => runtime.statistics().calls === 0))
  })

  t.test('an aborted signal ends a call without a response', async (t) => {
    const controller = new AbortController()
    const call = invoke('streams', 'streams/slow', { signal: controller.signal })
    const settled = t.rejects(call, { message: 'gone' })
    t.ok(await until(async () => isDeepStrictEqual(await state(), { begun: 1, cancelled: 1, aborted: 1 })))
    controller.abort(new Error('gone'))
    await settled
    t.ok(await until(async () => isDeepStrictEqual(await state(), { begun: 1, cancelled: 1, aborted: 2 })))
    await t.rejects(invoke('streams', 'streams/slow', { signal: controller.signal }), { message: 'gone' }, 'before it')
    t.ok(await until(() => runtime.statistics().calls === 0))
  })

  t.test('the body of a request streams', async (t) => {
    const source = new Readable({ read: () => undefined })
    const response = invoke('streams', 'streams/upper', { body: source })
    source.push('first ')
    const { body } = await response
    const [first] = (await once(body, 'data')) as [Buffer]
    t.equal(String(first), 'FIRST ', 'before the request ends')
    source.push('second')
    source.push(null)
    t.equal(await text(body), 'SECOND')
  })

  t.test('large bodies', async (t) => {
    const chunk = Buffer.alloc(65536)
    const large = Readable.from(Array.from({ length: 800 }, () => chunk))
    t.strictSame(await read('streams', 'streams/size', { body: large }), [200, '{"size":52428800}'])
    let size = 0
    const { body } = await invoke('streams', 'streams/many?bytes=52428800')
    for await (const part of body as AsyncIterable<Buffer>) size += part.length
    t.equal(size, 52_428_800)
  })

  t.test('a response without reading the request', async (t) => {
    const endless = new Readable({ read: () => void endless.push(Buffer.alloc(65536)) })
    t.strictSame(await read('streams', 'streams/unread', { body: endless }), [403, 'I did not read it'])
    t.equal(endless.destroyed, false, 'the connection of the client, which receives the response, stays open')
    await until(() => runtime.statistics().calls === 0)
    endless.destroy()
  })

  t.test('a reader that stops reading neither fills memory nor blocks other calls', async (t) => {
    const { body } = await invoke('streams', 'streams/many?bytes=99000000')
    await once(body, 'readable')
    await pause(300)
    t.ok(body.readableLength < 200_000, `${body.readableLength} bytes wait`)
    t.strictSame(await read('streams', 'streams/many?bytes=10'), [200, 'AAAAAAAAAA'])
    body.destroy()
  })
})

t.test('promises go on after the response', async (t) => {
  const { read, log, runtime } = testRuntime(t, { idleMs: 100 })
  const [, accepted] = await read('background', 'background?ms=1500&fails')
  t.strictSame(log, [])
  await until(() => runtime.statistics().workers === 0)
  const level = ({ level, message, requestId }: (typeof log)[number]): unknown => [
    level,
    message.split('\n', 1)[0],
    requestId,
  ]
  t.strictSame(log.map(level), [
    ['info', 'done in the background', 'request-1'],
    ['error', 'A promise of EdgeRuntime.waitUntil failed: Error: failed in the background', 'request-1'],
    ['info', 'ends: early_drop', undefined],
  ])
  const [, again] = await read('background', 'background?ms=0')
  t.not(again, accepted, 'another process')
})

t.test('a new version takes over, and calls of the version before end', async (t) => {
  const { read, runtime } = testRuntime(t)
  const one = fixtureFunction('faults')
  const [, before] = await read(one, 'faults/fine')
  const slow = read(one, 'faults/fine?ms=500')
  await pause(100)
  const [, after] = await read({ ...one, version: '2' }, 'faults/fine')
  t.not(after, before)
  t.strictSame(await slow, [200, before])
  await until(() => runtime.statistics().workers === 1)
})
