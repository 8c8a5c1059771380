// Outgoing requests: what is sent, what is refused, and receivers that are slow, endless, broken or hostile.
import { createServer as createTlsServer } from 'node:https'
import type { LookupAddress } from 'node:dns'
import t, { type Test } from 'tap'
import { allowedHosts } from '../../../server/services/outgoing/allowed-hosts.ts'
import { OutgoingConnections } from '../../../server/services/outgoing/connections.ts'
import { OutgoingError } from '../../../server/services/outgoing/outgoing-error.ts'
import {
  sendRequest,
  type OutgoingRequest,
  type OutgoingResponse,
} from '../../../server/services/outgoing/outgoing-request.ts'
import { certificate, privateKey } from '../../support/certificate.ts'
import { listenOnLoopback } from '../../support/loopback-server.ts'
import { startRawReceiver, startReceiver } from '../../support/receiver.ts'

type Options = {
  readonly allowed?: readonly string[]
  readonly addresses?: Readonly<Record<string, readonly string[]>>
  readonly timeout?: number
}

const familyOf = (address: string): number => (address.includes(':') ? 6 : 4)

/** Sends requests from connections of the test's own. Names have the addresses of a table. */
function client(t: Test, { allowed = ['127.0.0.1'], addresses = {}, timeout = 60_000 }: Options = {}) {
  const looked: string[] = []
  const connections = new OutgoingConnections({
    allowed: () => allowedHosts(allowed),
    setting: 'ALLOWED_HOSTS',
    resolve: async (host): Promise<LookupAddress[]> => {
      looked.push(host)
      return (addresses[host] ?? []).map((address) => ({ address, family: familyOf(address) }))
    },
  })
  t.teardown(() => connections.close())
  const send = (url: string, request: Partial<OutgoingRequest> = {}): Promise<OutgoingResponse> => {
    const controller = new AbortController()
    const late = new OutgoingError('the time is over', { isTimeout: true })
    const timer = setTimeout(() => controller.abort(late), timeout)
    const given = { method: 'POST', headers: {}, body: '{}', keptBytes: 1024, ...request, url }
    return sendRequest(connections, given, controller.signal).finally(() => clearTimeout(timer))
  }
  return { send, looked, connections }
}

const fails = (t: Test, sent: Promise<unknown>, message: RegExp, more: object = {}) =>
  t.rejects(sent, { name: 'OutgoingError', message, ...more }, String(message))

const messageOf = (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => 'no error',
    ({ message }: Error) => message,
  )

t.test('sends method, headers and body, and returns status, headers and text', async (t) => {
  const { received, url } = await startReceiver(t, (_, response) =>
    response.writeHead(201, { 'X-Answer': 'yes' }).end('Grüße\0'),
  )
  const { send } = client(t)
  const headers = { 'Content-Type': 'application/json', 'X-Name': 'a', Connection: 'upgrade' }
  const sent = await send(`${url}/hook?a=1#part`, { headers: { ...headers, 'Content-Length': '1' }, body: '{"ü":1}' })
  t.equal(sent.status, 201)
  t.equal(sent.headers['x-answer'], 'yes')
  t.strictSame(sent.body, { text: 'Grüße\u{fffd}', isWhole: true, fault: null })
  const [call] = received
  t.match(call, { method: 'POST', path: '/hook?a=1', body: '{"ü":1}' })
  t.match(call?.headers, { 'content-type': 'application/json', 'x-name': 'a', 'content-length': '8' })
  t.equal(call?.headers.host, url.slice('http://'.length), 'the host is that of the URL')
  await send(url, { method: 'GET', body: null, headers: { 'X-Text': 'Grüße ✓ \u010d\u010a' } })
  t.match(received[1], { method: 'GET', path: '/', body: '' })
  t.equal(received[1]?.headers['content-length'], undefined)
  const text = received[1]?.headers['x-text']
  t.equal(Buffer.from(String(text), 'latin1').toString(), 'Grüße ✓ \u010d\u010a', 'text is UTF-8, and ends no line')
})

t.test('refuses URLs before anything is connected', async (t) => {
  const { send, looked } = client(t)
  for (const [url, message] of [
    ['ftp://example.org/', /must begin with http:\/\/ or https:\/\/: ftp:/],
    ['file:///etc/passwd', /must begin with http/],
    ['gopher://example.org/', /must begin with http/],
    ['', /the URL is invalid: $/],
    ['/path', /the URL is invalid: \/path/],
    ['http://', /invalid/],
    ['http://exa mple.org/', /invalid/],
    [`http://example.org:70000/`, /invalid/],
    ['http://example.org:70000/hooks/secret?token=secret', /^the URL is invalid: http:\/\/example\.org:70000…$/],
    ['http://me:secret@example.org:70000/', /^the URL is invalid: http:\/\/…@example\.org:70000…$/],
    ['ftp://example.org/secret', /^the URL must begin with http:\/\/ or https:\/\/: ftp:\/\/example\.org…$/],
    ['http://user@example.org/', /the URL of example\.org must not contain a user or password/],
    ['http://:secret@example.org/', /must not contain a user or password/],
    ['http://example.org:25/', /port 25 of example\.org is not one for http/],
    ['http://example.org:0/', /port 0/],
    ['http://127.0.0.2/', /127\.0\.0\.2 is not a public address; ALLOWED_HOSTS can allow it/],
    ['http://169.254.169.254/latest/meta-data/', /169\.254\.169\.254 is not a public address/],
    ['http://2852039166/', /169\.254\.169\.254 is not a public address/],
    ['http://0xa9.0xfe.0xa9.0xfe/', /169\.254\.169\.254 is not a public address/],
    ['http://0251.0376.0251.0376/', /169\.254\.169\.254 is not a public address/],
    ['http://10.1/', /10\.0\.0\.1 is not a public address/],
    ['http://0/', /0\.0\.0\.0 is not a public address/],
    ['http://[::1]/', /::1 is not a public address/],
    ['http://[::]/', /:: is not a public address/],
    ['http://[::ffff:169.254.169.254]/', /::ffff:a9fe:a9fe is not a public address/],
    ['http://[64:ff9b::7f00:1]/', /64:ff9b::7f00:1 is not a public address/],
    ['http://[fd00:ec2::254]/', /fd00:ec2::254 is not a public address/],
  ] as const) {
    await fails(t, send(url), message, { isFinal: true })
  }
  const secret = await messageOf(send('http://:secret@example.org/'))
  t.notMatch(secret, /secret@|:secret/, 'the message does not have the password')
  t.strictSame(looked, [])
})

t.test('refuses names of addresses that are not public', async (t) => {
  const { received, port } = await startReceiver(t, (_, response) => response.end('ok'))
  const addresses = {
    'rebound.example': ['127.0.0.9'],
    'metadata.example': ['169.254.169.254', '::ffff:a9fe:a9fe'],
    localhost: ['127.0.0.1', '::1'],
    'nowhere.example': [],
  }
  const { send } = client(t, { allowed: [], addresses })
  for (const [host, address] of [
    ['rebound.example', '127.0.0.9'],
    ['metadata.example', '169.254.169.254'],
    ['localhost', '127.0.0.1'],
  ] as const) {
    const message = `${host} has the address ${address}, which is not public; ALLOWED_HOSTS can allow it`
    await fails(t, send(`http://${host}:${port}/`), new RegExp(`^${message}$`), { isFinal: true })
    await fails(t, send(`https://${host}:${port}/`), new RegExp(message), { isFinal: true })
  }
  await fails(t, send('http://nowhere.example/'), /nowhere\.example has no address/, { isFinal: false })
  t.equal(received.length, 0)
})

t.test('connects to the address that was checked, also when the name gets another one', async (t) => {
  const { received, port } = await startReceiver(t, (_, response) =>
    response.writeHead(200, { Connection: 'close' }).end('ok'),
  )
  let lookups = 0
  const connections = new OutgoingConnections({
    allowed: () => allowedHosts(['127.0.0.1']),
    setting: 'ALLOWED_HOSTS',
    // The first address is allowed, each further one is not.
    resolve: async () => [{ address: ++lookups === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }],
  })
  t.teardown(() => connections.close())
  const request = { method: 'GET', headers: {}, body: null, keptBytes: 10, url: `http://rebinding.example:${port}/` }
  const { signal } = new AbortController()
  t.equal((await sendRequest(connections, request, signal)).status, 200)
  t.equal(lookups, 1, 'one look-up serves the check and the connection')
  await fails(t, sendRequest(connections, request, signal), /has the address 127\.0\.0\.2/)
  t.equal(received.length, 1)
})

t.test('allows names and networks of the setting, and of several addresses the allowed ones', async (t) => {
  const { received, port } = await startReceiver(t, (_, response) => response.end('ok'))
  const addresses = { 'hooks.internal': ['127.0.0.1'], 'two.example': ['10.9.9.9', '127.0.0.1'] }
  const byName = client(t, { allowed: ['hooks.internal'], addresses })
  t.equal((await byName.send(`http://hooks.internal:${port}/`)).status, 200)
  await fails(t, byName.send(`http://two.example:${port}/`), /two\.example has the address 10\.9\.9\.9/)
  const byNetwork = client(t, { allowed: ['127.0.0.0/8'], addresses })
  t.equal((await byNetwork.send(`http://hooks.internal:${port}/`)).status, 200)
  t.equal((await byNetwork.send(`http://two.example:${port}/`)).status, 200)
  t.equal(received.length, 3)
})

t.test('follows redirects within the host only', async (t) => {
  const elsewhere = await startReceiver(t, (_, response) => response.end('secret'))
  const { received, url } = await startReceiver(t, ({ path, method }, response) => {
    const [, status, target] = /^\/(\d+)\/(.*)$/.exec(path) ?? []
    if (status === undefined) response.end(`${method} ${path}`)
    else response.writeHead(Number(status), { Location: decodeURIComponent(target ?? '') }).end('x'.repeat(100_000))
  })
  const { send } = client(t)
  const to = (status: number, target: string): string => `${url}/${status}/${encodeURIComponent(target)}`
  for (const status of [301, 302, 307, 308]) {
    const { body } = await send(to(status, '/target'), { body: '{"a":1}', headers: { 'x-key': 'k' } })
    t.equal(body.text, 'POST /target', `${status} repeats the request`)
    t.match(received.at(-1), { body: '{"a":1}', headers: { 'x-key': 'k' } })
  }
  t.equal((await send(to(303, '/target'))).body.text, 'GET /target', '303 asks for another resource')
  t.equal((await send(to(302, `${url}/full`))).body.text, 'POST /full')
  t.equal((await send(to(302, to(302, '/twice')))).body.text, 'POST /twice')
  for (const [target, shown] of [
    [`${elsewhere.url}/`, elsewhere.url],
    ['http://169.254.169.254/latest/meta-data/', 'http://169.254.169.254'],
    ['http://localhost/', 'http://localhost'],
    ['//evil.example/x', 'http://evil.example'],
    ['https://evil.example/x', 'https://evil.example'],
    ['file:///etc/passwd', 'null'],
    [url.replace('http://', 'http://user:secret@'), url],
    ['http://[broken', 'http://[broken'],
  ] as const) {
    await fails(
      t,
      send(to(302, target)),
      /redirects with 302 to .*; only redirects within the same host are followed/,
      {
        isFinal: false,
        status: 302,
      },
    )
    const message = await messageOf(send(to(302, target)))
    t.ok(message.includes(`to ${shown};`), `${message} names ${shown}`)
    t.notMatch(message, /secret/)
  }
  t.equal(elsewhere.received.length, 0)
  const before = received.length
  const loop = await startReceiver(t, (_, response) => response.writeHead(302, { Location: '/again' }).end())
  await fails(t, send(loop.url), /redirects more than 5 times/, { status: 302 })
  t.equal(loop.received.length, 6)
  t.equal(received.length, before)
  const without = await startReceiver(t, (_, response) => response.writeHead(302).end('no location'))
  t.match(await send(without.url), { status: 302, body: { text: 'no location' } })
})

t.test('receivers that never respond end with the time', async (t) => {
  const { send } = client(t, { timeout: 300 })
  const silent = await startRawReceiver(t, () => undefined)
  await fails(t, send(silent), /the time is over/, { isTimeout: true })
  const dripping = await startRawReceiver(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write('X-A: b\r\n'), 20)
    socket.on('close', () => clearInterval(timer))
  })
  await fails(t, send(dripping), /the time is over/, { isTimeout: true })
  const informing = await startRawReceiver(t, (socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 20)
    socket.on('close', () => clearInterval(timer))
  })
  await fails(t, send(informing), /the time is over/, { isTimeout: true })
})

t.test('a status that has arrived counts, whatever the body does', async (t) => {
  const { send } = client(t, { timeout: 300 })
  const dripping = await startRawReceiver(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n')
    const timer = setInterval(() => socket.write('x'), 20)
    socket.on('close', () => clearInterval(timer))
  })
  const slow = await send(dripping)
  t.match(slow, {
    status: 200,
    body: { text: /^x+$/, isWhole: false, fault: /broke off after \d+ bytes: the time is/ },
  })
  const short = await startRawReceiver(t, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort'),
  )
  t.match(await send(short), { status: 200, body: { text: 'short', isWhole: false, fault: /broke off after 5 bytes/ } })
  const chunked = await startRawReceiver(t, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nzz\r\n'),
  )
  t.match(await send(chunked), { status: 200, body: { text: 'abcde', isWhole: false } })
})

t.test('an endless body is cut, and its connection closed', async (t) => {
  let sent = 0
  let closed: () => void = () => undefined
  const isClosed = new Promise<void>((resolve) => (closed = resolve))
  const endless = await startRawReceiver(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
    const piece = `10000\r\n${'é'.repeat(0x8000)}\r\n`
    const more = (): void => {
      do sent += 0x10000
      while (socket.write(piece))
    }
    socket.on('drain', more).on('close', () => closed())
    more()
  })
  const { send } = client(t)
  const { body } = await send(endless, { keptBytes: 1001 })
  t.equal(body.text, 'é'.repeat(500), 'cut before the character that is not complete')
  t.equal(body.isWhole, false)
  await isClosed
  t.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`)
})

t.test('responses that are none', async (t) => {
  const { send } = client(t)
  for (const [answer, message] of [
    ['', /socket hang up|ECONNRESET/],
    ['HTTP/1.1 ', /socket hang up|Parse Error/],
    ['SSH-2.0-OpenSSH_9.6\r\n', /Parse Error/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx', /Parse Error/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx', /Parse Error/],
    [`HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(10_000)}\r\n`, /Header overflow/],
    [`HTTP/1.1 200 OK\r\nX-A: ${'b'.repeat(100_000)}\r\n\r\n`, /Header overflow/],
    [
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n',
      /ended the connection without a response/,
    ],
  ] as const) {
    const url = await startRawReceiver(t, (socket) => socket.end(answer))
    await fails(t, send(url), message, { isFinal: false })
  }
  const port = await (async () => {
    const { port: free } = await startReceiver(t, () => undefined)
    return free
  })()
  await fails(t, send(`https://127.0.0.1:${port}/`), /wrong version number|packet length too long|EPROTO/)
})

t.test('encrypted connections need a certificate of the host that a known authority has signed', async (t) => {
  const port = await listenOnLoopback(
    t,
    createTlsServer({ key: privateKey, cert: certificate }, (_, r) => r.end('ok')),
  )
  const { send } = client(t, { addresses: { localhost: ['127.0.0.1'] } })
  await fails(t, send(`https://localhost:${port}/`), /localhost.*certificate/, { isFinal: false })
})

t.test('a host that the caller chooses is the virtual one only', async (t) => {
  const { received, url } = await startReceiver(t, (_, response) => response.end())
  const port = Number(new URL(url).port)
  const { send, looked } = client(t, { addresses: { 'public.example': ['127.0.0.1'] } })
  for (const [name, value] of [
    ['Host', 'other.example'],
    ['hOST', 'other.example:8080'],
    ['Host', '[::1]:80'],
    ['Host', '169.254.169.254'],
  ] as const) {
    await send(`http://public.example:${port}/`, { headers: { [name]: value } })
    t.equal(received.at(-1)?.headers.host, value)
  }
  t.strictSame([...new Set(looked)], ['public.example'], 'no other host is looked up')
  await send(url)
  t.equal(received.at(-1)?.headers.host, `127.0.0.1:${port}`, 'by default that of the URL')

  const before = received.length
  for (const value of ['', 'a b', 'a/b', 'user@a', 'a:b', 'a\r\nX-B: b', 'a, b', '[a', 'ü.example']) {
    await fails(t, send(url, { headers: { Host: value } }), /^the header Host must be the name or address of a host/, {
      isFinal: true,
    })
  }
  const inside = client(t, {
    allowed: ['hooks.internal', 'shop.internal'],
    addresses: { 'hooks.internal': ['127.0.0.1'] },
  })
  const sent = (host: string) => inside.send(`http://hooks.internal:${port}/`, { headers: { Host: host } })
  await fails(
    t,
    sent('admin.internal'),
    /^the header Host is admin\.internal, which hooks\.internal may not be sent; ALLOWED_HOSTS can allow it$/,
  )
  t.equal(received.length, before, 'nothing was sent')
  for (const host of ['Hooks.Internal:80', 'shop.internal']) {
    t.equal((await sent(host)).status, 200, host)
  }

  // The test's certificate is of `localhost`, and signed by no known authority.
  const names: unknown[] = []
  const tls = createTlsServer({
    key: privateKey,
    cert: certificate,
    SNICallback: (name, done) => {
      names.push(name)
      done(null)
    },
  })
  const tlsPort = await listenOnLoopback(t, tls)
  const headers = { Host: 'localhost' }
  await fails(t, send(`https://public.example:${tlsPort}/`, { headers }), /certificate/)
  t.strictSame(names, ['public.example'], 'the certificate must be that of the host of the URL')
})

t.test('what cannot be sent is refused', async (t) => {
  const { received, url } = await startReceiver(t, (_, response) => response.end())
  const { send } = client(t)
  for (const [name, value] of [
    ['x-a', 'a\r\nX-B: b'],
    ['x-ü', 'a'],
    ['x a', 'b'],
    ['', 'b'],
  ] as const) {
    await fails(t, send(url, { headers: { [name]: value } }), /Invalid character in header content|valid HTTP token/, {
      isFinal: true,
    })
  }
  await fails(t, send(url, { method: 'GET /\r\n' }), /Method must be a valid HTTP token/, { isFinal: true })
  t.equal(received.length, 0)
})

t.test('text that is encoded although it was asked for as it is, is not kept', async (t) => {
  const { url } = await startReceiver(t, (_, response) =>
    response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('\u001f'),
  )
  t.match(await client(t).send(url), { status: 200, body: { text: null, isWhole: true } })
})

t.test('repeats a request once on a new connection if the kept one was closed', async (t) => {
  let connections = 0
  const answered = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const url = await startRawReceiver(t, (socket) => {
    connections++
    socket.write(answered)
    // The second request on the same connection gets no response.
    socket.once('data', () => socket.destroy())
  })
  const { send } = client(t)
  t.equal((await send(url)).status, 200)
  t.equal((await send(url)).status, 200)
  t.equal(connections, 2)
})

t.test('looks a name up once for all that wait, and few names at a time', async (t) => {
  let running = 0
  let most = 0
  const looked: string[] = []
  const connections = new OutgoingConnections({
    allowed: () => allowedHosts([]),
    setting: 'ALLOWED_HOSTS',
    resolve: async (host) => {
      looked.push(host)
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 1))
      running--
      return [{ address: '127.0.0.1', family: 4 }]
    },
  })
  t.teardown(() => connections.close())
  const { signal } = new AbortController()
  const urls = Array.from({ length: 600 }, (_, index) => `http://host${index % 300}.example/`)
  const results = await Promise.all(
    urls.map((url) =>
      messageOf(sendRequest(connections, { method: 'GET', headers: {}, body: null, keptBytes: 1, url }, signal)),
    ),
  )
  t.equal(most, 2)
  t.equal(new Set(looked).size, looked.length, 'each name once')
  t.ok(looked.length <= 258)
  t.equal(results.filter((result) => result.includes('not public')).length, looked.length * 2)
  t.ok(results.every((result) => /not public|too many host names/.test(result)))
})
