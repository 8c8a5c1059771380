// Responses that are sent in one piece have the bytes of those that are not: generated ones, to several pipelining clients.
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createHttpServer } from '../../../server/running/http-server.ts'
import { seededRandom, type Random, testSeed } from '../../support/seeded-random.ts'

type Piece = { readonly text: string; readonly encoding: 'latin1' | 'utf8' | 'buffer' }

/** What a listener does with a response. */
type Script = {
  readonly method: string
  readonly status: number
  readonly header: string
  readonly hasLength: boolean
  readonly pieces: readonly Piece[]
  /** Whether the last piece is passed to `end`. */
  readonly endsWithPiece: boolean
  readonly pauses: boolean
  readonly isCorked: boolean
}

const texts = ['', 'a', 'ü', '\xff\x00', '"{}"\r\n\r\nHTTP/1.1 200 OK', 'é'.repeat(700), 'x'.repeat(70_000)] as const
const encodings = ['latin1', 'utf8', 'buffer'] as const

const scriptOf = (random: Random): Script => ({
  method: random.pick(['GET', 'GET', 'POST', 'HEAD']),
  status: random.pick([200, 200, 204, 304, 500]),
  header: random.pick(['plain', 'h\xfc\xff', 'x'.repeat(3000)]),
  hasLength: random.chance(0.5),
  pieces: random.some(0, 3, () => ({ text: random.pick(texts), encoding: random.pick(encodings) })),
  endsWithPiece: random.chance(0.6),
  pauses: random.chance(0.2),
  isCorked: random.chance(0.1),
})

const bytesOf = ({ text, encoding }: Piece): Buffer => Buffer.from(text, encoding === 'utf8' ? 'utf8' : 'latin1')

async function respond(response: ServerResponse, script: Script): Promise<void> {
  const { status, header, hasLength, pieces, endsWithPiece, pauses, isCorked } = script
  response.sendDate = false
  const size = pieces.reduce((sum, piece) => sum + bytesOf(piece).length, 0)
  if (pauses) await turn()
  if (isCorked) response.cork()
  response.writeHead(status, { 'X-Header': header, ...(hasLength ? { 'Content-Length': size } : {}) })
  for (const [index, piece] of pieces.entries()) {
    const isLast = endsWithPiece && index === pieces.length - 1
    const { text, encoding } = piece
    if (encoding === 'buffer') response[isLast ? 'end' : 'write'](bytesOf(piece))
    else response[isLast ? 'end' : 'write'](text, encoding)
    if (pauses && !isLast) await turn()
  }
  if (!response.writableEnded) response.end()
}

const clients = 4
const limits = { requestHeaderLimit: 16_384, serverRequestTimeout: 60 }

/** Listens until the test ends. Returns the port. */
async function listen(t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Everything that each client receives. */
async function received(t: Test, scripts: readonly Script[], joinsWrites: boolean): Promise<string[]> {
  const port = await listen(
    t,
    createHttpServer(
      ({ url = '' }, response) => {
        const script = scripts[Number(url.slice(1))]
        if (script) void respond(response, script)
      },
      { ...limits, joinsWrites },
    ),
  )
  return Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const socket = connect(port, '127.0.0.1').setEncoding('latin1')
      let text = ''
      socket.on('data', (chunk: string) => {
        text += chunk
        // A slow reader: responses wait in the server.
        if (client === 0) {
          socket.pause()
          setTimeout(() => socket.resume(), 1)
        }
      })
      const own = scripts.map((script, index) => ({ script, index })).filter(({ index }) => index % clients === client)
      for (const [position, { script, index }] of own.entries()) {
        const connection = position === own.length - 1 ? 'close' : 'keep-alive'
        socket.write(`${script.method} /${index} HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\n\r\n`)
        if (client === 1) await turn()
      }
      await once(socket, 'close')
      return text
    }),
  )
}

t.test('generated responses', async (t) => {
  const seed = testSeed()
  const random = seededRandom(seed)
  const scripts = random.some(400, 400, () => scriptOf(random))
  const [joined, apart] = [await received(t, scripts, true), await received(t, scripts, false)]
  t.ok(joined.every((text) => text.length > 10_000))
  for (const [client, text] of joined.entries()) t.ok(text === apart[client], `client ${client}, seed ${seed}`)
})

/** A server whose responses all have this body. */
const serverOf = (body: string): Server =>
  createHttpServer((_request, response) => void response.end(body, 'latin1'), limits)

t.test('a small response is written once', async (t) => {
  const writes: string[] = []
  const server = serverOf('{}').on('connection', (socket: Socket) => {
    const write = socket._write.bind(socket)
    socket._write = (chunk, encoding, done) => {
      writes.push(String(chunk).slice(-2))
      write(chunk, encoding, done)
    }
  })
  const port = await listen(t, server)
  t.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), '{}')
  t.strictSame(writes, ['{}'])
})

t.test('connections that are reset while they are written to', async (t) => {
  const errors: unknown[] = []
  const body = 'é'.repeat(1_000_000)
  const server = serverOf(body).on('connection', (socket: Socket) => socket.on('error', (error) => errors.push(error)))
  const port = await listen(t, server)
  for (let round = 0; round < 20; round++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20))
    await once(socket, 'data')
    socket.resetAndDestroy()
    await once(socket, 'close')
  }
  t.ok(
    errors.every((error) => /ECONNRESET|EPIPE|ECANCELED/.test(String(error))),
    errors.join(),
  )
  t.equal((await (await fetch(`http://127.0.0.1:${port}`)).arrayBuffer()).byteLength, body.length)
})
