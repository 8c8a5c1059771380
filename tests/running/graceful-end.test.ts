// Graceful shutdown of an HTTP server: no response is cut off, and no client can prevent the end.
import { createServer, type RequestListener, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { GracefulEnd } from '../../server/running/graceful-end.ts'
import { RefusalBatch } from '../../server/running/overload/refusals.ts'
import { overloadResponder } from '../../server/running/overload/refusal-response.ts'
import { until } from '../support/until.ts'

type Ending = { readonly server: Server; readonly port: number; readonly end: (grace?: number) => Promise<number> }

async function start(t: Test, listener: RequestListener): Promise<Ending> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener)
  const ending = new GracefulEnd(server)
  t.equal(ending.isServing, false)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.equal(ending.isServing, true)
  t.teardown(() => server.closeAllConnections())
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    server,
    port,
    end: (grace = 20_000) => {
      const ended = ending.end(grace, 5000)
      t.equal(ending.isServing, false)
      return ended
    },
  }
}

type Client = { readonly socket: Socket; readonly text: () => string; readonly closed: Promise<void> }

/** A client that sends exactly the given bytes. `closed` resolves when its connection is closed. */
async function open(t: Test, port: number): Promise<Client> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  const closed = new Promise<void>((resolve, reject) => {
    socket.once('close', () => resolve()).once('error', reject)
  })
  return { socket, text: () => text, closed }
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

t.test('requests in flight, sent later, and half sent are answered', async (t) => {
  const answers = new Map<string, () => void>()
  const seen: string[] = []
  const { port, end } = await start(t, (request, response) => {
    const { url = '' } = request
    seen.push(url)
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.once('end', () => {
      if (url.startsWith('/wait')) answers.set(url, () => response.end(`answer to ${url}`))
      else if (url === '/stream') {
        response.write('begin ')
        answers.set(url, () => response.end('end'))
      } else response.end(`answer to ${url} ${body}`)
    })
  })
  const [waiting, streaming, kept, half, pipelining] = await Promise.all([
    open(t, port),
    open(t, port),
    open(t, port),
    open(t, port),
    open(t, port),
  ])
  waiting.socket.write(get('/wait'))
  streaming.socket.write(get('/stream'))
  kept.socket.write(get('/first'))
  half.socket.write('POST /half HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc')
  pipelining.socket.write(get('/wait/1'))
  t.ok(await until(() => answers.size === 3 && seen.includes('/half') && kept.text().endsWith('answer to /first ')))
  t.ok(await until(() => streaming.text().endsWith('begin \r\n')))
  t.match(kept.text(), 'Connection: keep-alive')

  const ended = end()
  kept.socket.write(get('/second'))
  pipelining.socket.write(get('/behind'))
  await kept.closed
  t.match(kept.text(), /\nConnection: close\r\n[^]*answer to \/second $/, 'answered with Connection: close')
  half.socket.write('def')
  await half.closed
  t.match(half.text(), /Connection: close[^]*answer to \/half abcdef$/)
  await pause(700)
  answers.get('/wait')?.()
  answers.get('/wait/1')?.()
  answers.get('/stream')?.()
  await Promise.all([waiting.closed, streaming.closed, pipelining.closed])
  t.match(waiting.text(), /Connection: close[^]*answer to \/wait$/)
  t.match(streaming.text(), /begin \r\n3\r\nend\r\n0\r\n\r\n$/, 'a response that has started is completed')
  t.match(pipelining.text(), /Connection: close[^]*answer to \/wait\/1$/)
  t.notOk(seen.includes('/behind'), 'a request that cannot be answered is not run')
  t.equal(await ended, 0, 'no connection was cut off')
})

t.test('idle connections are closed after a short time', async (t) => {
  const { port, end } = await start(t, (_request, response) => response.end('x'))
  const [idle, unused, late] = await Promise.all([open(t, port), open(t, port), open(t, port)])
  idle.socket.write(get('/'))
  t.ok(await until(() => idle.text().endsWith('x')))
  const ended = end()
  // Accepted, but its first request arrives later.
  await pause(300)
  late.socket.write(get('/'))
  await late.closed
  t.match(late.text(), /Connection: close[^]*x$/)
  await Promise.all([idle.closed, unused.closed])
  t.equal(await ended, 0)
  await t.rejects(open(t, port), { code: 'ECONNREFUSED' })
})

t.test('connections that exceed the timeout are cut off and counted', async (t) => {
  let requests = 0
  const { port, end } = await start(t, () => void (requests += 1))
  const clients = await Promise.all([open(t, port), open(t, port)])
  for (const { socket } of clients) socket.write(get('/'))
  t.ok(await until(() => requests === 2))
  t.equal(await end(500), 2)
  await Promise.all(clients.map(({ closed }) => closed))
})

t.test('connections in the accept queue are served', async (t) => {
  const { port, server, end } = await start(t, (_request, response) => response.end('x'))
  const waiting = Array.from({ length: 50 }, () => open(t, port))
  await new Promise((resolve) => server.once('connection', resolve))
  const ended = end()
  const texts = waiting.map(async (opening) => {
    const client = await opening
    client.socket.write(get('/'))
    await client.closed
    return client.text()
  })
  for (const text of await Promise.all(texts)) t.match(text, /Connection: close[^]*x$/)
  t.equal(await ended, 0)
})

t.test('refusals that wait to be sent are sent before the end', async (t) => {
  const respond = overloadResponder({ analysisPath: undefined, allowedOrigins: () => [], verbosity: () => 'verbose' })
  const batch = new RefusalBatch<Parameters<typeof respond>>((answer) => respond(...answer))
  const clients = 20
  let ended: Promise<number> | undefined
  let arrived = 0
  const { port, end } = await start(t, (request, response) => {
    batch.add([request, response, request.url ?? '/', true])
    // The last of them are still waiting.
    if (++arrived === 2 * clients) ended = end()
  })
  const all = await Promise.all(Array.from({ length: clients }, () => open(t, port)))
  // Two on each connection, which were sent together.
  for (const { socket } of all) socket.write(get('/rest/v1/films') + get('/rest/v1/films'))
  for (const { text, closed } of all) {
    await closed
    t.equal(text().split('HTTP/1.1 503 Service Unavailable').length - 1, 2)
  }
  t.ok(
    all.some(({ text }) => text().includes('Connection: close')),
    'those that waited say that the connection ends',
  )
  t.equal(await ended, 0, 'none was cut off')
})
