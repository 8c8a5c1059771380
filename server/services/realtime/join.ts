// The payload of `phx_join`.
import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../text/json-object.ts'

export type Replay = {
  /** Milliseconds since 1970. */
  readonly since: number
  readonly limit: number
}

/** A binding of `postgres_changes` as the client sent it. */
export type Binding = Readonly<Record<string, unknown>>

export type JoinRequest = {
  readonly isPrivate: boolean
  /** Whether the client gets its own broadcasts. */
  readonly isSelf: boolean
  /** Whether broadcasts have replies. */
  readonly isAcknowledged: boolean
  /** `invalid`: it is refused. */
  readonly replay: Replay | 'invalid' | undefined
  /** Whether the client wants to know when broadcasts from the database arrive. */
  readonly wantsReadiness: boolean
  /** Undefined: the server chooses one. */
  readonly presenceKey: string | undefined
  readonly isPresenceEnabled: boolean
  readonly bindings: readonly Binding[]
  /** The last position that the client has seen of row changes. */
  readonly since: string | undefined
  /** Milliseconds for which the join waits for row changes, and fails otherwise; undefined: it succeeds without them. */
  readonly wait: number | undefined
  /** Undefined: that of the connection. */
  readonly token: string | undefined
  /** Whether the client is of the time before `config`, when topics named tables. */
  readonly isLegacy: boolean
}

const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})

/** Some clients send booleans as text. */
const isTrue = (value: unknown): boolean =>
  value === true || (typeof value === 'string' && value.toLowerCase() === 'true')

/** Milliseconds. */
const defaultWait = 15_000
const longestWait = 20_000

/** Reads a payload. What is not valid counts as missing. @param topic without `realtime:` */
export function readJoin(payload: unknown, topic: string): JoinRequest {
  const { config, access_token: accessToken, user_token: userToken } = objectOf(payload)
  const {
    broadcast,
    presence,
    postgres_changes: changes,
    postgres_changes_options: options,
    private: isPrivate,
  } = objectOf(config)
  const { self, ack, replay, replication_ready: readiness } = objectOf(broadcast)
  const { key, enabled } = objectOf(presence)
  const { since, wait, timeout } = objectOf(options)
  const isLegacy = objectOf(payload).config === undefined
  return {
    isPrivate: isTrue(isPrivate),
    isSelf: isTrue(self),
    isAcknowledged: isTrue(ack),
    replay: replayOf(replay),
    wantsReadiness: isTrue(readiness),
    presenceKey: typeof key === 'string' && key !== '' ? key : typeof key === 'number' ? String(key) : undefined,
    isPresenceEnabled: isTrue(enabled),
    bindings: isLegacy ? legacyBindings(topic) : bindingsOf(changes),
    since: typeof since === 'string' && since !== '' ? since : undefined,
    wait: isTrue(wait)
      ? Math.max(1, Math.min(typeof timeout === 'number' ? timeout : defaultWait, longestWait))
      : undefined,
    token: tokenOf(userToken) ?? tokenOf(accessToken),
    isLegacy,
  }
}

const tokenOf = (value: unknown): string | undefined =>
  typeof value === 'string' && !value.startsWith('sb_') ? value : undefined

/** Most messages that are sent again. */
const mostReplayed = 25
/** Milliseconds since 1970 of the last moment that PostgreSQL and JavaScript both know. */
const lastMoment = 8.64e15

function replayOf(value: unknown): JoinRequest['replay'] {
  if (typeof value !== 'object' || value === null) return undefined
  const { since, limit } = value as JsonObject
  const most = limit ?? mostReplayed
  if (!Number.isInteger(since) || !Number.isInteger(most) || Math.abs(since as number) > lastMoment) return 'invalid'
  return { since: since as number, limit: Math.max(1, Math.min(most as number, mostReplayed)) }
}

const bindingsOf = (changes: unknown): readonly Binding[] =>
  Array.isArray(changes)
    ? changes.filter((binding): binding is Binding => typeof binding === 'object' && binding !== null)
    : []

/** `schema`, `schema:table` or `schema:table:filter` */
function legacyBindings(topic: string): readonly Binding[] {
  const [schema = '', table, ...filter] = topic.split(':')
  const binding = { event: '*', schema, ...(table === undefined ? {} : { table }) }
  return [filter.length === 0 ? binding : { ...binding, filter: filter.join(':') }]
}

/** Ids are less than this. */
const idLimit = 2 ** 27

/** Ids of bindings: equal for equal ones, and different for others of the same channel. */
export function bindingIds(bindings: readonly Binding[]): readonly number[] {
  const taken = new Map<number, string>()
  return bindings.map((binding) => {
    const text = sortedJson(binding)
    let id = createHash('sha1').update(text).digest().readUInt32BE() % idLimit
    while ((taken.get(id) ?? text) !== text) id = (id + 1) % idLimit
    taken.set(id, text)
    return id
  })
}

const sortedJson = (binding: Binding): string =>
  JSON.stringify(Object.entries(binding).sort(([a], [b]) => (a < b ? -1 : 1)))
