// A server that implements just enough of PostgreSQL's protocol to accept connections, with or without TLS.
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext, TLSSocket } from 'node:tls'
import { certificate, privateKey } from './certificate.ts'

export type FakeServer = {
  readonly port: number
  /** The start of each connection: `tls`, `plain`, then whether its startup message arrived. */
  readonly seen: string[]
  /** Parameters of the last startup message. */
  readonly startup: () => Readonly<Record<string, string>>
  readonly close: () => Promise<void>
}

export type FakeBehaviour = {
  /** The response to the TLS request; `direct`: TLS is expected without a request. */
  readonly tls?: 'S' | 'N' | 'E' | 'S and more' | 'closes' | 'silent' | 'direct'
  /** Connections refused as by pg_hba.conf. */
  readonly refuses?: 'tls' | 'plain'
  readonly mechanisms?: readonly string[]
  readonly isStandby?: boolean
  readonly isReadOnly?: boolean
  /** What the server reports of itself at the start of a connection, if it is not the truth, as through a pooler. */
  readonly reports?: { readonly isStandby: boolean }
  readonly isStarting?: boolean
  /** `server_version_num` and `server_version`: the response to every query. Without it, queries get no response. */
  readonly version?: readonly [number: string, name: string]
}

const message = (type: string, ...parts: (string | Buffer)[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

const error = (code: string, text: string): Buffer =>
  message('E', 'SFATAL\0', 'VFATAL\0', `C${code}\0`, `M${text}\0`, '\0')

/** One row of text, in response to a simple query. */
function row(values: Readonly<Record<string, string>>): Buffer {
  const int16 = (value: number): Buffer => int32(value).subarray(2)
  const names = Object.keys(values)
  // Name; table, column, type (text), length, modifier, format.
  const fields = names.flatMap((name) => [`${name}\0`, int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)])
  const texts = Object.values(values).flatMap((text) => [int32(Buffer.byteLength(text)), text])
  return Buffer.concat([
    message('T', int16(names.length), ...fields),
    message('D', int16(names.length), ...texts),
    message('C', 'SELECT 1\0'),
    message('Z', 'I'),
  ])
}

const parameter = (name: string, isOn: boolean | undefined): Buffer =>
  message('S', `${name}\0`, `${isOn ? 'on' : 'off'}\0`)

export async function fakePostgres(behaviour: FakeBehaviour): Promise<FakeServer> {
  const seen: string[] = []
  const open = new Set<Socket>()
  let startup: Record<string, string> = {}
  const serve = (stream: Duplex, kind: 'tls' | 'plain'): void => {
    stream.on('error', () => undefined)
    stream.once('data', (data: Buffer) => {
      const words = data.subarray(8).toString().split('\0')
      startup = Object.fromEntries(
        words.flatMap((word, at) => (at % 2 === 0 && word ? [[word, words[at + 1] ?? '']] : [])),
      )
      seen.push(`${kind} startup`)
      if (behaviour.refuses === kind) return stream.end(error('28000', `no pg_hba.conf entry, ${kind}`))
      if (behaviour.isStarting) return stream.end(error('57P03', 'the database system is starting up'))
      if (behaviour.mechanisms) {
        return stream.write(message('R', int32(10), ...behaviour.mechanisms.map((name) => `${name}\0`), '\0'))
      }
      stream.write(
        Buffer.concat([
          message('R', int32(0)),
          parameter('in_hot_standby', (behaviour.reports ?? behaviour).isStandby),
          parameter('default_transaction_read_only', behaviour.isReadOnly),
          message('K', int32(1), int32(2)),
          message('Z', 'I'),
        ]),
      )
      stream.on('data', (query: Buffer) => {
        if (query.includes('pg_is_in_recovery')) {
          const isReadOnly = behaviour.isStandby === true || behaviour.isReadOnly === true
          stream.write(row({ standby: behaviour.isStandby ? 't' : 'f', read_only: isReadOnly ? 'on' : 'off' }))
          return
        }
        const [number, name] = behaviour.version ?? []
        if (query[0] !== 0x51 || number === undefined || name === undefined) return
        seen.push(`query ${query.subarray(5, -1).toString()}`)
        stream.write(row({ number, name }))
      })
      return undefined
    })
  }
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => undefined)
    const secure = (): void => {
      const secureContext = createSecureContext({ cert: certificate, key: privateKey })
      serve(new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['postgresql'] }), 'tls')
    }
    if (behaviour.tls === 'direct') {
      seen.push('direct')
      return secure()
    }
    socket.once('data', (data) => {
      if (data.length !== 8 || data.readInt32BE(4) !== 80877103) {
        socket.unshift(data)
        return serve(socket, 'plain')
      }
      const answer = behaviour.tls ?? 'N'
      seen.push(`asked ${answer}`)
      if (answer === 'closes') return socket.end()
      if (answer === 'silent') return undefined
      socket.write(answer === 'S and more' ? 'Smore' : answer)
      return answer === 'S' ? secure() : serve(socket, 'plain')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    startup: () => startup,
    close: () => {
      for (const socket of open) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
