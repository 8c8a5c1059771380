// Requests that Node's parser rejects and that are parsed again, on connections that are shared, split, or closing.
import type { RequestListener, Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { GracefulEnd } from '../../../server/running/graceful-end.ts'
import { createHttpServer } from '../../../server/running/http-server.ts'

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

type Client = { readonly socket: Socket; readonly closed: Promise<string> }

type Serving = { readonly server: Server; readonly ending: GracefulEnd; readonly open: () => Client }

async function serve(t: Test, listener: RequestListener): Promise<Serving> {
  const server = createHttpServer(listener, { requestHeaderLimit: 50 * 1024, serverRequestTimeout: 60 })
  const ending = new GracefulEnd(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** `closed` resolves with everything that was received. */
  const open = (): Client => {
    const socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1')
    t.teardown(() => socket.destroy())
    let text = ''
    const closed = new Promise<string>((resolve) => {
      socket.on('data', (chunk: string) => (text += chunk))
      socket.on('error', () => undefined)
      socket.once('close', () => resolve(text))
    })
    return { socket, closed }
  }
  return { server, ending, open }
}

const head = (line: string): string => `${line} HTTP/1.1\r\nHost: x\r\n\r\n`

t.test('a connection reset by the client does not end the process', async (t) => {
  const errors: unknown[] = []
  const note = (error: unknown): void => void errors.push(error)
  process.on('uncaughtException', note)
  t.teardown(() => process.removeListener('uncaughtException', note))
  for (const line of ['CONNECT /x', 'get /x', 'GET /\xfc']) {
    for (const isLarge of [false, true]) {
      let asked: () => void = () => undefined
      const seen = new Promise<void>((resolve) => (asked = resolve))
      let finish: () => void = () => undefined
      const closed = new Promise<void>((resolve) => (finish = resolve))
      const { open } = await serve(t, (_request, response) => {
        response.once('close', finish)
        asked()
        if (isLarge) response.end('x'.repeat(20_000_000))
      })
      const { socket } = open()
      socket.write(head(line), 'latin1')
      await seen
      socket.resetAndDestroy()
      await closed
    }
  }
  await pause(50)
  t.strictSame(errors, [])
})

t.test('responses are sent in the order of their requests', async (t) => {
  for (const line of ['CONNECT /second', 'get /second', 'GET /\xfc']) {
    const { open } = await serve(t, ({ url }, response) => {
      setTimeout(() => response.end(`answer to ${url}`), url === '/first' ? 50 : 0)
    })
    const { socket, closed } = open()
    socket.write(head('GET /first') + head(line), 'latin1')
    const text = await closed
    t.notMatch(text, /answer to \/(?!first)/, line)
  }
})

t.test('a request line split into two packets is parsed from its start', async (t) => {
  const seen: string[] = []
  const { open } = await serve(t, ({ method, url }, response) => {
    seen.push(`${method} ${url}`)
    response.end()
  })
  const parts: readonly (readonly [string, string])[] = [
    ['POS', 'DELETE /items'],
    ['GET ', 'DELETE /items'],
    ['GET ', 'DELETE /\xfc'],
    ['GET /a', 'DELETE /\xfc'],
    ['X', 'DELETE /items'],
  ]
  for (const [first, second] of parts) {
    const { socket, closed } = open()
    socket.write(first)
    await pause(50)
    socket.write(head(second), 'latin1')
    t.match(await closed, /^HTTP\/1\.1 400 /, first + second)
  }
  t.strictSame(seen, [])
})

t.test('a repaired request in flight is answered during shutdown', async (t) => {
  for (const line of ['CONNECT /x', 'get /x', 'GET /\xfc']) {
    let asked: () => void = () => undefined
    const seen = new Promise<void>((resolve) => (asked = resolve))
    const { ending, open } = await serve(t, (_request, response) => {
      asked()
      setTimeout(() => response.end('whole'), 1500)
    })
    const { socket, closed } = open()
    socket.write(head(line), 'latin1')
    await seen
    t.equal(await ending.end(20_000, 1000), 0, line)
    t.match(await closed, /whole$/, line)
  }
})
