// The service at `/realtime/v1`. All but this is loaded with the first socket or request.
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { lazy } from '../../common/lazy.ts'
import { repeat } from '../../common/repeated-task.ts'
import { unobservedSocket, type ObserveSocket } from '../../common/socket-observer.ts'
import { crossOriginGuard, isTrustedOrigin } from '../../http/cross-origin.ts'
import { searchOf } from '../../http/query-string.ts'
import { createRouter } from '../../http/router.ts'
import { isUnreachable } from '../../postgres/database-error.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import { readRealtimeBody, realtimeCrossOrigin, realtimeDialect, realtimePath } from './dialect.ts'
import type { ChannelNotices } from '../channel-notices.ts'
import type { RealtimeReport } from '../console/realtime-protocol.ts'
import type { SerializerVersion } from './frames.ts'
import { peerNames } from './peer-notice.ts'
import { RealtimeError } from './realtime-error.ts'
import type { RealtimeOptions as StartOptions, StartedRealtime } from './start-realtime.ts'
import { RealtimeStatistics, type RealtimeFigures } from './statistics.ts'
import { keepMessagePartitions } from './stored-messages.ts'
import { handshakeError, type Credential } from './tokens.ts'

export type RealtimeOptions = StartOptions & {
  readonly validator: { readonly forDto: (id: string) => DtoValidator }
  readonly allowedOrigins: () => readonly string[]
  /** Whether new sockets are refused because the server is overloaded. */
  readonly isOverloaded: () => boolean
  /** Records handshakes; undefined: nothing is recorded. */
  readonly observeSocket?: ObserveSocket | undefined
  /** Of other processes, which have got subscribers. */
  readonly peerNotices: ChannelNotices
}

export type RealtimeService = {
  /** Responds to requests to targets below `/realtime/v1`. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /** Takes over a connection whose request asks for the WebSocket. @returns false for all other requests */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean
  /** Closes all sockets so that their clients connect again, to another process or later. */
  readonly closeSockets: () => void
  /** Call this when the schema has changed. */
  readonly forgetTables: () => void
  readonly figures: () => RealtimeFigures
  /** What it does at the moment, for people. */
  readonly view: () => Promise<RealtimeReport>
  readonly stop: () => Promise<void>
}

/** Paths of the WebSocket. The second is that of the original without its gateway. */
const socketPaths: ReadonlySet<string> = new Set([`${realtimePath}/websocket`, '/socket/websocket'])
/** Milliseconds until the partitions of messages are created, and between two times. */
const partitionPause = { first: 2000, next: 6 * 3_600_000 }

export function createRealtime(options: RealtimeOptions): RealtimeService {
  const { validator, allowedOrigins, database, peerNotices, onError } = options
  const statistics = new RealtimeStatistics()
  let isEnding = false
  let opening = 0
  const start = lazy(async () => (await import('./start-realtime.ts')).startRealtime(options, statistics))
  const router = createRouter({
    dialect: realtimeDialect,
    basePath: realtimePath,
    routes: async () => (await import('./realtime-table.ts')).realtimeRoutes,
    guards: [crossOriginGuard(allowedOrigins, realtimeCrossOrigin)],
    tools: { context: { parts: async () => (await start()).parts, onError }, validator, readBody: readRealtimeBody },
  })
  const stopKeeping = repeat({
    run: () => keepMessagePartitions(database),
    pause: (isFirst) => (isFirst ? partitionPause.first : partitionPause.next),
    onError,
  })
  const askPeers = async (): Promise<void> => {
    if (!isEnding && (await peerNames(database)).size > 0) (await start()).askPeers()
  }
  // Without the database, they are asked when the server listens again.
  const askPeersSoon = (): void =>
    void askPeers().catch((error: unknown) => {
      if (!isUnreachable(error)) onError(error)
    })
  peerNotices.subscribe(askPeersSoon)

  const admit = async (request: IncomingMessage): Promise<{ credential: Credential; realtime: StartedRealtime }> => {
    if (isEnding) throw refusal(503, 'Realtime is restarting, please standby')
    if (options.isOverloaded()) {
      statistics.drop('overloaded')
      throw refusal(503, 'The server is overloaded')
    }
    const origins = allowedOrigins()
    if (request.headers.origin !== undefined && origins.length > 0 && !isTrustedOrigin(request, origins)) {
      statistics.drop('cross-site')
      throw refusal(403, 'Requests from pages of other sites are not accepted')
    }
    const realtime = await start()
    if (realtime.sockets.size + opening >= options.settings().realtimeMaxConnections) {
      statistics.drop('too many connections')
      throw refusal(429, 'Too many connected users')
    }
    opening++
    try {
      return { realtime, credential: await realtime.parts.tokens.verify(tokenOf(request)) }
    } catch (error) {
      statistics.drop('invalid token')
      throw handshakeError(error)
    } finally {
      opening--
    }
  }

  return {
    handler: (request, response) => router(request, response, (request.url ?? '').slice(realtimePath.length)),
    upgrade: (request, socket, head) => {
      const [target = ''] = (request.url ?? '').split('?', 1)
      if (!socketPaths.has(target) || request.headers.upgrade?.toLowerCase() !== 'websocket') return false
      const onSocketError = (): void => void socket.destroy()
      socket.on('error', onSocketError)
      const observer = options.observeSocket?.(request, target) ?? unobservedSocket
      observer
        .handshake(() => admit(request))
        .then(
          ({ credential, realtime }) => {
            socket.off('error', onSocketError)
            realtime.sockets.open(
              { request, socket, head, version: versionOf(request), credential, observer },
              (status) => observer.answered(status, credential.identity.role),
            )
            if (isEnding) realtime.sockets.closeAll()
          },
          (error: unknown) => {
            const refused = handshakeError(error)
            if (refused.status === 500) onError(refused.cause ?? error)
            refuse(socket, refused)
            observer.answered(refused.status, undefined)
          },
        )
        .catch(onError)
      return true
    },
    closeSockets: () => {
      isEnding = true
      void start.settled().then((realtime) => {
        realtime?.sockets.closeAll()
        realtime?.parts.streams.endAll()
      })
    },
    forgetTables: () => void start.settled().then((realtime) => realtime?.changes.forgetTables()),
    figures: () => ({ counts: statistics, log: start.value()?.figures() }),
    view: async () => (await import('./realtime-view.ts')).describeRealtime(statistics, start.value()),
    stop: async () => {
      isEnding = true
      void stopKeeping()
      const realtime = await start.settled()
      realtime?.sockets.closeAll()
      await realtime?.stop()
    },
  }
}

const refusal = (status: number, error: string): RealtimeError => new RealtimeError(status, { error })

function tokenOf(request: IncomingMessage): string | undefined {
  const header = request.headers['x-api-key']
  return (Array.isArray(header) ? header[0] : header) ?? searchOf(request.url ?? '').get('apikey') ?? undefined
}

/** Clients that do not say their version speak the first one. */
const versionOf = (request: IncomingMessage): SerializerVersion =>
  searchOf(request.url ?? '')
    .get('vsn')
    ?.startsWith('2.') === true
    ? 2
    : 1

function refuse(socket: Duplex, { status, body }: RealtimeError): void {
  const text = JSON.stringify(body)
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`)
}
