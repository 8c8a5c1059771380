// What `/realtime/v1` needs as soon as it is used: loaded with the first socket or request.
import type { ApiKeyChanges } from '../../identity/api-key/api-key-changes.ts'
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import type { Database } from '../../postgres/database.ts'
import type { RowChanges } from './changes/row-changes.ts'
import type { ChannelPolicies } from './channel-policies.ts'
import { Broadcast } from './frames.ts'
import { Hub } from './hub.ts'
import type { RealtimeParts } from './realtime-parts.ts'
import { Relay } from './relay.ts'
import type { RealtimeSettings } from './settings.ts'
import { Sockets } from './sockets.ts'
import type { RealtimeStatistics } from './statistics.ts'
import type { MessageFeed, StoredMessage } from './stored-message.ts'
import { storedMessages } from './stored-messages.ts'
import { createTokens } from './tokens.ts'

export type RealtimeOptions = {
  /** Read each time, because the settings can be reloaded. */
  readonly settings: () => RealtimeSettings
  readonly database: Pick<Database, 'askRows' | 'runWith' | 'listenAs'>
  readonly verifier: () => JwtVerifier
  readonly lookupApiKey: ApiKeyLookup
  readonly keyChanges: Pick<ApiKeyChanges, 'subscribe'>
  /** Whether the database has `auth.check_session`. */
  readonly checksSessions: () => boolean
  /** Loads what reads policies and the log, with the first channel. */
  readonly loadLog: (options: LogOptions) => Promise<LogParts>
  readonly onError: (error: unknown) => void
}

export type LogOptions = {
  /** Called for each message of SQL, in the order of commits. */
  readonly onMessage: (message: StoredMessage) => void
}

/** What decides by the database's policies, and what reads the log. */
export type LogParts = {
  readonly policies: ChannelPolicies
  readonly changes: RowChanges
  readonly feed: MessageFeed
  readonly stop: () => Promise<void>
}

export type StartedRealtime = {
  readonly parts: RealtimeParts
  readonly sockets: Sockets
  readonly stop: () => Promise<void>
}

export async function startRealtime(
  options: RealtimeOptions,
  statistics: RealtimeStatistics,
): Promise<StartedRealtime> {
  const { settings, database, keyChanges, onError } = options
  const hub = new Hub()
  const log = await options.loadLog({ onMessage: (message) => deliver(hub, message) })
  const { policies, changes, feed } = log
  const parts: RealtimeParts = {
    settings,
    hub,
    tokens: createTokens(options),
    policies,
    changes: () => Promise.resolve(changes),
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
    onEnd: (isEnded) => sockets.sessionsEnded(isEnded),
    onMissed: () => void sockets.checkAgain(({ session }) => session !== undefined),
    onError,
  })
  hub.observer = {
    onBroadcast: (room, delivery) => relay.onBroadcast(room, delivery),
    onPresence: (room, channel) => relay.onPresence(room, channel),
    onUse: (isUsed) => {
      relay.onUse(isUsed)
      // Without the log, everything but messages of SQL works; clients that wait for those are told.
      if (isUsed) feed.start().catch(() => undefined)
      else feed.stop()
    },
  }
  keyChanges.subscribe((hash) => {
    const name = hash?.toString('hex')
    // Other subscribers forget the key first.
    setImmediate(() => {
      void sockets.checkAgain(({ keyHash }) => keyHash !== undefined && (name === undefined || name === keyHash))
    })
  })
  return {
    parts,
    sockets,
    stop: async () => {
      sockets.stopWatching()
      await relay.stop()
      await log.stop()
    },
  }
}

/** Sends a message of SQL to the members of its topic. Every process reads it for its own. */
function deliver(hub: Hub, { id, topic, event, payload, binary, isPrivate }: StoredMessage): void {
  const room = hub.find(topic, isPrivate)
  if (!room) return
  const isJson = binary === null
  room.send(new Broadcast({ topic, id, event, payload: binary ?? payload ?? Buffer.from('null'), isJson }))
}
