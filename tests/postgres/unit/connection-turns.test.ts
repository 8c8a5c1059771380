// Requests that one client pipelines, and bodies of many small chunks, leave turns to other connections.
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createHttpServer } from '../../../server/running/http-server.ts'
import { rawRequest } from '../../support/raw-request.ts'
import { until } from '../../support/until.ts'

async function listening(t: Test, listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener, { requestHeaderLimit: 16_384, serverRequestTimeout: 60 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const get = (path: number | string): string => `GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, number) => number)

t.test('other connections are served between pipelined requests', async (t) => {
  let started = 0
  let before: number | undefined
  const url = await listening(t, (request, response) => {
    if (request.url === '/other') before = started
    else started += 1
    response.end(`<${request.url}>`)
  })
  const other = rawRequest(url, '')
  const piped = rawRequest(url, '')
  await Promise.all([once(other.socket, 'connect'), once(piped.socket, 'connect')])
  piped.socket.write(numbers(900).map(get).join(''))
  other.socket.write(get('other'))
  t.ok(await until(() => piped.text().includes('</899>')))
  t.ok(before !== undefined && before < 100, `${before} requests started before that of the other connection`)
  t.strictSame(
    [...piped.text().matchAll(/<\/(\d+)>/g)].map(([, number]) => Number(number)),
    numbers(900),
    'all are answered in order',
  )
})

t.test('requests of a connection that wait are limited', async (t) => {
  let started = 0
  const url = await listening(t, (_request, response) => {
    started += 1
    if (started > 1) response.end()
  })
  const { closed } = rawRequest(url, numbers(2000).map(get).join(''))
  t.equal(await closed, '', 'the connection was closed')
  t.ok(started < 20, `${started} were started`)
})

t.test('a body of many small chunks pauses its connection', async (t) => {
  let pauses = 0
  const url = await listening(t, (request, response) => {
    request.socket.on('pause', () => (pauses += 1))
    let size = 0
    request.on('data', (piece: Buffer) => (size += piece.length)).on('end', () => response.end(`<${size}>`))
  })
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
  const { text, socket } = rawRequest(url, `${head}${'1\r\na\r\n'.repeat(50_000)}0\r\n\r\n`)
  t.ok(await until(() => text().includes('<50000>')))
  t.ok(pauses > 5, `${pauses} pauses`)
  socket.destroy()
})

t.test('a client that leaves takes its waiting requests with it', async (t) => {
  const held: ServerResponse[] = []
  const url = await listening(t, (_request, response) => void held.push(response))
  const { socket, closed } = rawRequest(url, numbers(500).map(get).join(''))
  t.ok(await until(() => held.length === 9), 'those that run')
  socket.destroy()
  await closed
  const other = rawRequest(url, get('other'))
  t.ok(await until(() => held.length > 9))
  t.equal(held.length, 10, 'only that of the other client was started')
  held.at(-1)?.end('<other>')
  t.ok(await until(() => other.text().includes('<other>')))
})

t.test('pipelined requests keep their own bodies, and one that fails does not stop the others', async (t) => {
  const url = await listening(t, (request, response) => {
    let text = ''
    request
      .on('data', (piece: Buffer) => (text += piece.toString()))
      .on('end', () => {
        if (request.url === '/5') response.statusCode = 500
        response.end(`<${request.url}:${text.length}:${text[0]}>`)
      })
  })
  const post = (number: number): string => {
    const body = String(number % 10).repeat(10_000 + number)
    return `POST /${number} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }
  const { text } = rawRequest(url, numbers(60).map(post).join(''))
  t.ok(await until(() => text().includes('</59:')))
  t.strictSame(
    Array.from(text().matchAll(/<\/[^>]*>/g), ([found]) => found),
    numbers(60).map((number) => `</${number}:${10_000 + number}:${number % 10}>`),
  )
})

t.test('a client that leaves within a body of small chunks ends its request', async (t) => {
  let outcome = ''
  const url = await listening(t, (request) => {
    request
      .on('data', () => undefined)
      .on('end', () => (outcome = 'end'))
      .on('error', () => (outcome = 'error'))
  })
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
  const { socket } = rawRequest(url, `${head}${'1\r\na\r\n'.repeat(1024)}`)
  await once(socket, 'connect')
  socket.write('1\r\na\r\n'.repeat(1024), () => socket.destroy())
  t.ok(await until(() => outcome !== ''))
  t.equal(outcome, 'error')
})
