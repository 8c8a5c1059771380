// What `/realtime/v1` needs as soon as it is used: loaded with the first socket or request.
import { setTimeout as pause } from 'node:timers/promises'
import type { ApiKeyChanges } from '../../identity/api-key/api-key-changes.ts'
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import type { Database } from '../../postgres/database.ts'
import type { PoolConfig } from '../../postgres/connection/pool-config.ts'
import { LogReader } from '../../postgres/replication/log-reader.ts'
import { ChangeStreams } from './changes/change-streams.ts'
import { createRowChanges, type RunningRowChanges } from './changes/create-row-changes.ts'
import { publication } from './changes/publication.ts'
import { Broadcast } from './frames.ts'
import { Hub } from './hub.ts'
import { LogFeed, type SentMessage } from './log-feed.ts'
import { createChannelPolicies } from './policies/channel-policies.ts'
import type { RealtimeParts } from './realtime-parts.ts'
import { Relay } from './relay.ts'
import type { RealtimeSettings } from './settings.ts'
import { Sockets } from './sockets.ts'
import type { LogFigures, RealtimeStatistics } from './statistics.ts'
import { storedMessages } from './stored-messages.ts'
import { createTokens, type Credential } from './tokens.ts'

export type RealtimeOptions = {
  /** Read each time, because the settings can be reloaded. */
  readonly settings: () => RealtimeSettings
  readonly database: Pick<Database, 'askRows' | 'runWith' | 'runForEach' | 'listenAs'>
  readonly verifier: () => JwtVerifier
  readonly lookupApiKey: ApiKeyLookup
  readonly keyChanges: Pick<ApiKeyChanges, 'subscribe'>
  /** See `Snapshot`. */
  readonly checksSessions: () => boolean
  /** A login with REPLICATION, which reads the log. */
  readonly logConnection: PoolConfig
  readonly onError: (error: unknown) => void
  /** Writes a warning to the log of the program. */
  readonly warn: (message: string) => void
}

export type StartedRealtime = {
  readonly parts: RealtimeParts
  readonly sockets: Sockets
  readonly changes: RunningRowChanges
  /** Finds out whether other processes have subscribers, whose clients may come here. */
  readonly askPeers: () => void
  readonly figures: () => LogFigures
  readonly stop: () => Promise<void>
}

/** The publication of the messages that SQL sends. */
const messagesPublication = 'supabase_realtime_messages_publication'

/** How often, and after how many milliseconds, a process looks whether it has read the log up to a place that another one asks for. */
const mostLooks = 100
const lookInterval = 100

export function startRealtime(options: RealtimeOptions, statistics: RealtimeStatistics): StartedRealtime {
  const { settings, database, checksSessions, keyChanges, onError } = options
  const hub = new Hub()
  let reader: LogReader | undefined
  const feed = new LogFeed({
    onError,
    createReader: (handlers) =>
      (reader = new LogReader({
        ...handlers,
        connection: options.logConnection,
        publications: [publication, messagesPublication],
        mostBytes: () => settings().realtimeMaxTransactionBytes,
      })),
    onMessage: (message) => {
      if (!deliver(hub, message)) statistics.drop('crowded topic')
      return hub.costOf(message.topic, message.isPrivate)
    },
  })
  feed.add({
    onTransactions: () => undefined,
    onState: (state) => {
      if (state.kind === 'reading') relay.onReading(state.from)
      else if (state.kind === 'unavailable') options.warn(`Realtime cannot read changes of rows. ${state.message}`)
      else if (state.kind === 'lost') {
        options.warn(
          `Realtime has lost the log of the database (${state.message}); next attempt in ${state.retrySeconds} s`,
        )
      }
    },
  })
  const changes = createRowChanges({
    database,
    feed,
    checksSessions,
    settings,
    onUse: (isUsed) => relay.onSubscribers(isUsed),
    onError,
  })
  const tokens = createTokens(options)
  const streams = new ChangeStreams({ settings, statistics, changes, tokens, onError })
  let endUse: (() => void) | undefined
  let endFollowing: (() => void) | undefined
  let hasChannels = false
  const parts: RealtimeParts = {
    settings,
    verifier: options.verifier,
    checksSessions,
    hub,
    tokens,
    policies: createChannelPolicies(database, checksSessions),
    changes,
    streams,
    feed,
    storedMessages: (topic, replay) => storedMessages(database, topic, replay),
    statistics,
    onError,
  }
  const sockets = new Sockets(parts)
  const relay = new Relay({
    database,
    hub,
    statistics,
    onEnd: (isEnded) => {
      const mayHaveEnded = ({ session }: Credential): boolean =>
        session !== undefined && isEnded(session.session, session.user)
      void sockets.checkAgain(mayHaveEnded)
      void streams.checkAgain(mayHaveEnded)
    },
    onMissed: () => {
      const mayHaveEnded = ({ session }: Credential): boolean => session !== undefined
      void sockets.checkAgain(mayHaveEnded)
      void streams.checkAgain(mayHaveEnded)
    },
    // Their clients may come to this process, and want what they have missed.
    onPeersSubscribed: (areSubscribed) => {
      if (areSubscribed) endFollowing = feed.use()
      else endFollowing?.()
    },
    newestBefore: async (place) => {
      const isRead = (): boolean => changes.hasPassed(place) || (feed.isIdle && (reader?.position ?? 0n) >= place)
      for (let count = 0; count < mostLooks && !isRead(); count++) await pause(lookInterval, undefined, { ref: false })
      return isRead() ? changes.newestBefore(place) : undefined
    },
    onNewest: (position, before) => changes.reachBack(position, before),
    onError,
  })
  hub.observer = {
    onBroadcast: (room, delivery) => relay.onBroadcast(room, delivery),
    onPresence: (room, channel) => relay.onPresence(room, channel),
    onUse: (isUsed) => {
      hasChannels = isUsed
      relay.onUse(hasChannels || streams.size > 0)
      if (isUsed) endUse = feed.use()
      else endUse?.()
    },
  }
  // Ends of sessions concern streams, too.
  streams.onUse = (isUsed) => relay.onUse(isUsed || hasChannels)
  keyChanges.subscribe((hash) => {
    const name = hash?.toString('hex')
    // Other subscribers forget the key first.
    setImmediate(() => {
      const mayHaveEnded = ({ keyHash }: Credential): boolean =>
        keyHash !== undefined && (name === undefined || name === keyHash)
      void sockets.checkAgain(mayHaveEnded)
      void streams.checkAgain(mayHaveEnded)
    })
  })
  return {
    parts,
    sockets,
    changes,
    askPeers: () => relay.ask(),
    figures: () => {
      const { subscribers, bufferedBytes, checks, checkedRows } = changes.statistics
      const isReading = feed.state?.kind === 'reading'
      const { bytes: lagBytes, seconds: lagSeconds } = reader?.lag ?? { bytes: 0, seconds: 0 }
      return { isReading, lagBytes, lagSeconds, subscribers, bufferedBytes, checks, checkedRows }
    },
    stop: async () => {
      sockets.stopWatching()
      streams.endAll()
      await relay.stop()
      await changes.stop()
      await feed.stop()
    },
  }
}

/** Sends a message of SQL to the members of its topic. Every process reads it for its own. @returns false if it is dropped */
function deliver(hub: Hub, { id, topic, event, payload, binary, isPrivate }: SentMessage): boolean {
  const room = hub.find(topic, isPrivate)
  if (!room) return true
  const isJson = binary === null
  return room.send(new Broadcast({ topic, id, event, payload: binary ?? payload ?? Buffer.from('null'), isJson }))
}
