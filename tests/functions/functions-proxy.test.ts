// Calls that are passed on to a server of one's own (`FUNCTIONS_URL`), which sees what the client has sent.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { FunctionsHttpError, FunctionsRelayError } from '@supabase/supabase-js'
import t from 'tap'
import { certificate, privateKey } from '../support/certificate.ts'
import { listen } from '../support/listening.ts'
import { listenOnLoopback } from '../support/loopback-server.ts'
import { clientWith, startFunctionServer } from '../support/function-server.ts'
import { rawRequest } from '../support/raw-request.ts'
import { bearer, signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

let handle: Handler = (_request, response) => response.end()
let calls = 0
const upstream = await listen(t, (request, response) => {
  calls++
  handle(request, response)
})
const { url, reload, logged } = await startFunctionServer(t, {
  FUNCTIONS_URL: `${upstream}/base/`,
  FUNCTIONS_MAX_REQUEST_BYTES: '1mb',
  FUNCTIONS_MAX_RESPONSE_BYTES: '1mb',
  FUNCTIONS_TIMEOUT: '2',
  FUNCTIONS_CONCURRENCY: '3',
})
const authorization = await bearer('authenticated')
const ask = (path: string, init: RequestInit & { duplex?: 'half' } = {}): Promise<Response> =>
  fetch(`${url}/functions/v1/${path}`, { ...init, headers: { authorization, ...(init.headers as object) } })

/** Responds with what the server has got. */
const mirror: Handler = (request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { method, url: target, headers } = request
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ method, target, headers, body: Buffer.concat(chunks).toString('latin1') }))
  })
}

type Mirrored = {
  readonly method: string
  readonly target: string
  readonly headers: Record<string, string>
  readonly body: string
}

t.test('method, path, query, headers and body arrive', async (t) => {
  handle = mirror
  const response = await ask('hello/more/path?a=1&a=2', {
    method: 'PATCH',
    body: new Uint8Array([0, 255, 128]),
    headers: {
      'x-custom': 'yes',
      'x-forwarded-for': '6.6.6.6',
      'x-real-ip': '6.6.6.6',
      cookie: 'session=secret; theme=dark; __Host-console=secret',
      'x-request-id': 'id-1',
      'x-region': 'us-east-1',
    },
  })
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-request-id'), 'id-1')
  const { method, target, headers, body } = (await response.json()) as Mirrored
  t.strictSame([method, target, body], ['PATCH', '/base/hello/more/path?a=1&a=2', '\x00\xff\x80'])
  t.match(headers, {
    authorization,
    'x-custom': 'yes',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': new URL(url).host,
    'x-forwarded-proto': 'http',
    'x-real-ip': '127.0.0.1',
    'x-request-id': 'id-1',
    cookie: 'theme=dark',
    host: new URL(upstream).host,
  })
})

t.test('a stream arrives while it is sent, and the response while it is received', async (t) => {
  handle = (request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    request.on('data', (chunk: Buffer) => response.write(`data: ${chunk.toString()}\n\n`))
    request.on('end', () => response.end())
  }
  let send: (text: string | undefined) => void = () => undefined
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      send = (text) => (text === undefined ? controller.close() : controller.enqueue(Buffer.from(text)))
    },
  })
  send('one')
  const response = await ask('echo', { method: 'POST', body, duplex: 'half' })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const next = async (): Promise<string> => Buffer.from((await reader.read()).value ?? []).toString()
  t.equal(await next(), 'data: one\n\n')
  send('two')
  t.equal(await next(), 'data: two\n\n')
  send(undefined)
  t.ok((await reader.read()).done)
})

t.test('no call without a valid token', async (t) => {
  handle = mirror
  const before = calls
  const refusals: readonly (readonly [headers: Record<string, string>, message: string])[] = [
    [{}, 'Missing authorization header'],
    [{ apikey: await signToken({ role: 'anon' }) }, 'Missing authorization header'],
    [{ authorization: 'Basic YTpi' }, "Auth header is not 'Bearer {token}'"],
    [{ authorization: 'Bearer ' }, "Auth header is not 'Bearer {token}'"],
    [{ authorization: 'Bearer x.y.z' }, 'Invalid JWT'],
    [{ authorization: `${authorization}x` }, 'Invalid JWT'],
    [{ authorization: await bearer('authenticated', { exp: 1 }) }, 'Invalid JWT'],
    [{ authorization: `Bearer ${unsigned({ role: 'service_role' })}` }, 'Invalid JWT'],
    [{ authorization: 'Bearer sb_secret_forged' }, 'Invalid JWT'],
    [{ authorization, apikey: 'sb_publishable_forged' }, 'Invalid JWT'],
  ]
  for (const [headers, message] of refusals) {
    const response = await fetch(`${url}/functions/v1/hello`, { headers: { ...headers, origin: 'https://a.example' } })
    t.equal(response.status, 401, JSON.stringify(headers))
    t.strictSame(await response.json(), { code: 401, message })
    t.equal(response.headers.get('access-control-allow-origin'), '*')
  }
  t.equal(calls, before, 'the server was not called')
})

t.test('pages of other origins', async (t) => {
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
  }
  handle = (request, response) => {
    response.setHeader('Access-Control-Allow-Origin', 'https://own.example')
    response.end(request.method === 'OPTIONS' ? 'ok' : 'answer')
  }
  const own = await fetch(`${url}/functions/v1/hello`, preflight)
  t.equal(await own.text(), 'ok', 'a function answers preflight requests itself, without a token')
  t.equal(own.headers.get('access-control-allow-origin'), 'https://own.example')

  handle = (_request, response) => void response.writeHead(500).end('no idea of CORS')
  const given = await fetch(`${url}/functions/v1/hello`, {
    ...preflight,
    headers: { ...preflight.headers, 'access-control-request-headers': 'authorization,x-client-info' },
  })
  t.equal(given.status, 204)
  t.match(Object.fromEntries(given.headers), {
    'access-control-allow-origin': '*',
    'access-control-allow-headers': 'authorization,x-client-info',
    'access-control-allow-methods': /POST/,
  })
  const answer = await ask('hello', { headers: { origin: 'https://a.example' } })
  t.equal(answer.status, 500)
  t.equal(answer.headers.get('access-control-allow-origin'), '*')
  t.equal(answer.headers.get('access-control-expose-headers'), '*')
  t.equal(answer.headers.get('x-relay-error'), null)
})

t.test('errors as functions-js distinguishes them', async (t) => {
  const client = clientWith(url, await signToken({ role: 'anon' }))
  handle = (_request, response) => void response.writeHead(418, { 'Content-Type': 'application/json' }).end('{"a":1}')
  const refused = await client.functions.invoke('hello')
  t.type(refused.error, FunctionsHttpError)
  t.strictSame(await refused.response?.json(), { a: 1 })

  handle = (request) => void request.socket.destroy()
  const broken = await client.functions.invoke('hello')
  t.type(broken.error, FunctionsRelayError)
  t.strictSame(await broken.response?.json(), {
    code: 'BAD_GATEWAY',
    message: 'The server of the functions cannot be reached',
  })

  handle = () => undefined
  const late = await client.functions.invoke('hello')
  t.type(late.error, FunctionsRelayError)
  t.equal(late.response?.status, 504)

  await reload({ FUNCTIONS_URL: 'http://127.0.0.1:9' })
  const unreachable = await client.functions.invoke('hello')
  t.type(unreachable.error, FunctionsRelayError)
  t.equal(unreachable.response?.status, 502)
  t.ok(await until(() => logged().some(({ event }) => event === 'failure')), 'the reason is in the log')
  await reload({ FUNCTIONS_URL: `${upstream}/base/` })
})

t.test('limits of bodies', async (t) => {
  handle = mirror
  const big = 'x'.repeat(1024 * 1024 + 1)
  const declared = await ask('hello', { method: 'POST', body: big })
  t.equal(declared.status, 413)
  t.match(await declared.json(), { code: 'REQUEST_TOO_LARGE', message: /1048576 bytes/ })
  const streamed = await ask('hello', {
    method: 'POST',
    body: new Blob([big]).stream(),
    duplex: 'half',
  })
  t.equal(streamed.status, 413)

  handle = (_request, response) => response.end(big)
  await t.rejects(
    ask('hello').then((response) => response.text()),
    'a response that is too large breaks off',
  )
})

t.test('the end of the client ends the call', async (t) => {
  let hasEnded = false
  handle = (_request, response) => {
    response.on('close', () => (hasEnded = true))
    response.write('first')
  }
  const ending = new AbortController()
  const response = await ask('hello', { signal: ending.signal })
  t.equal(response.status, 200)
  ending.abort()
  t.ok(await until(() => hasEnded), 'the server sees it')

  hasEnded = false
  let hasBegun = false
  handle = (_request, response) => {
    response.on('close', () => (hasEnded = true))
    hasBegun = true
  }
  const waiting = new AbortController()
  const rejected = t.rejects(ask('hello', { signal: waiting.signal }))
  t.ok(await until(() => hasBegun))
  waiting.abort()
  await rejected
  t.ok(await until(() => hasEnded), 'also before the response')
})

t.test('a response that is cut is cut for the client', async (t) => {
  handle = (_request, response) => {
    response.writeHead(200, { 'Content-Length': '1000' })
    response.write('some', () => setTimeout(() => response.destroy(), 50))
  }
  await t.rejects(ask('hello').then((response) => response.text()))
})

t.test('more calls at the same time are refused', async (t) => {
  const waiting: ServerResponse[] = []
  handle = (_request, response) => void waiting.push(response)
  const three = [1, 2, 3].map(() => ask('hello'))
  t.ok(await until(() => waiting.length === 3))
  const fourth = await ask('hello')
  t.equal(fourth.status, 503)
  t.equal(fourth.headers.get('retry-after'), '1')
  t.match(await fourth.json(), { code: 'BUSY' })
  for (const response of waiting) response.end('done')
  t.strictSame(await Promise.all(three.map(async (call) => (await call).text())), ['done', 'done', 'done'])
  handle = (_request, response) => response.end('again')
  t.equal(await (await ask('hello')).text(), 'again')
})

t.test('WebSockets are refused with a sentence, which is no failure', async (t) => {
  const before = calls
  const failures = (): number => logged().filter(({ event }) => event === 'failure').length
  const failed = failures()
  const lines = ['GET /functions/v1/hello HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket', '\r\n']
  const raw = rawRequest(url, lines.join('\r\n'))
  t.ok(await until(() => raw.text().includes('WebSocket')))
  t.match(raw.text(), /^HTTP\/1.1 501 /)
  raw.socket.destroy()
  t.equal(calls, before)
  t.equal(failures(), failed)
})

t.test('a path does not reach another function than the one whose token was verified', async (t) => {
  handle = mirror
  const raw = rawRequest(
    url,
    `GET /functions/v1/open/../hello HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`,
  )
  const text = await raw.closed
  t.match(text, '"target":"/base/hello"')
})

const unsigned = (claims: object): string =>
  [{ alg: 'none', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.') + '.'

t.test('a server that upgrades the connection, or answers without a request', async (t) => {
  const odd = createServer()
  odd.on('connection', (socket) => {
    socket.once('data', () =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    )
  })
  await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve))
  t.teardown(() => odd.close())
  const address = odd.address()
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  await reload({ FUNCTIONS_URL: `http://127.0.0.1:${address.port}` })
  const response = await ask('hello')
  t.equal(response.status, 502)
  t.equal(response.headers.get('x-relay-error'), 'true')
})

t.test('a server of one’s own whose certificate is not valid gets nothing, neither token nor body', async (t) => {
  let heads = 0
  const server = createTlsServer({ cert: certificate, key: privateKey }, (_request, response) => {
    heads++
    response.end('never')
  })
  const port = await listenOnLoopback(t, server)
  // Its authority is unknown, and in the first case the name is another one, too.
  for (const host of ['127.0.0.1', 'localhost']) {
    const proxied = await startFunctionServer(t, { FUNCTIONS_URL: `https://${host}:${port}` })
    const response = await fetch(`${proxied.url}/functions/v1/hello`, {
      method: 'POST',
      headers: { authorization },
      body: 'secret',
    })
    t.equal(response.status, 502, host)
    t.equal(response.headers.get('x-relay-error'), 'true')
    const body = await response.text()
    t.match(body, /BAD_GATEWAY/)
    t.notMatch(body, /certificate|127\.0\.0\.1|localhost/i, 'the reason is for the log')
    t.match(JSON.stringify(proxied.logged()), /unable to verify the first certificate/)
  }
  t.equal(heads, 0)
})
