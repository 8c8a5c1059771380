// Follows a connection from the startup message until it is ready, and decides whether to use it.
import type { Duplex } from 'node:stream'
import type { SessionAttributes } from './connection-plan.ts'

/** What the server says about a session. */
export type ServerState = { readonly isStandby: boolean; readonly isReadOnly: boolean }

export type Outcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'next way' | 'next target'; readonly error: Error }
  | { readonly kind: 'given up' }

/** `asking`: the outcome depends on the answer to a query, to which the event belongs. */
export type Verdict = Outcome | { readonly kind: 'asking' }

/**
 * Returns the state of the server. What it has reported by itself is not enough: a pooler repeats what the server reported
 * when the pooler connected to it, perhaps before it was promoted.
 */
const stateStatement = `select pg_catalog.pg_is_in_recovery() as standby,
  pg_catalog.current_setting('transaction_read_only') as read_only`

export const closedByServer = 'server closed the connection unexpectedly'

const cannotConnectNow = '57P03'
const bindingMechanism = 'SCRAM-SHA-256-PLUS'

/** `prefer-standby` is an attempt for each of the others. */
export type WantedSession = Exclude<SessionAttributes, 'prefer-standby'>

/** Why a session does not satisfy `target_session_attrs`; undefined if it does. */
function sessionFault(wanted: WantedSession, { isStandby, isReadOnly }: ServerState): string | undefined {
  switch (wanted) {
    case 'any':
      return undefined
    case 'read-write':
      return isStandby || isReadOnly ? 'session is read-only' : undefined
    case 'read-only':
      return isStandby || isReadOnly ? undefined : 'session is not read-only'
    case 'primary':
      return isStandby ? 'server is in hot standby mode' : undefined
    case 'standby':
      return isStandby ? undefined : 'server is not in hot standby mode'
    default:
      return wanted satisfies never
  }
}

type Message = {
  readonly parameterName?: unknown
  readonly parameterValue?: unknown
  readonly mechanisms?: unknown
  readonly code?: unknown
  readonly fields?: unknown
}

const asking: Verdict = { kind: 'asking' }

/** Evaluates the row of `stateStatement`. */
function stateOf({ fields }: Message): ServerState | undefined {
  const [standby, readOnly] = Array.isArray(fields) ? (fields as readonly unknown[]) : []
  if (typeof standby !== 'string' || typeof readOnly !== 'string') return undefined
  return { isStandby: standby === 't', isReadOnly: readOnly === 'on' }
}

/** Evaluates the events of one attempt until its outcome is known. */
export class Startup {
  readonly #canFallBack: boolean
  readonly #requiresChannelBinding: boolean
  readonly #wanted: WantedSession
  readonly #query: (text: string) => void
  #session: ServerState | undefined
  #isAsking = false
  #hasAnswered = false
  #isBound = false

  /** @param query sends a simple query, whose events are judged, too */
  constructor(
    canFallBack: boolean,
    requiresChannelBinding: boolean,
    wanted: WantedSession,
    query: (text: string) => void,
  ) {
    this.#canFallBack = canFallBack
    this.#requiresChannelBinding = requiresChannelBinding
    this.#wanted = wanted
    this.#query = query
  }

  /** The outcome, once known. An error that ends all attempts counts as accepted, so that the client handles it. */
  judge(event: string | symbol, value: unknown, stream: Duplex): Verdict | undefined {
    const message = (typeof value === 'object' && value !== null ? value : {}) as Message
    switch (event) {
      case 'dataRow':
        this.#session = stateOf(message)
        return asking
      case 'rowDescription':
      case 'commandComplete':
        return asking
      case 'errorMessage':
        if (this.#isAsking || message.code === cannotConnectNow) return { kind: 'next target', error: value as Error }
        // Rejected before authentication: another kind of encryption may be accepted.
        return this.#canFallBack && !this.#hasAnswered
          ? { kind: 'next way', error: value as Error }
          : { kind: 'accepted' }
      case 'readyForQuery':
        return this.#isReady()
      case 'error':
        return { kind: 'next target', error: value as Error }
      case 'end':
        return stream.readableEnded ? { kind: 'next target', error: new Error(closedByServer) } : { kind: 'given up' }
      default:
        return String(event).startsWith('authentication') ? this.#authenticates(String(event), message) : undefined
    }
  }

  #isReady(): Verdict {
    if (this.#wanted === 'any') return { kind: 'accepted' }
    if (!this.#isAsking) {
      this.#isAsking = true
      this.#query(stateStatement)
      return asking
    }
    const fault = this.#session ? sessionFault(this.#wanted, this.#session) : 'the server does not tell its state'
    return fault === undefined ? { kind: 'accepted' } : { kind: 'next target', error: new Error(fault) }
  }

  #authenticates(event: string, { mechanisms }: Message): Verdict | undefined {
    this.#hasAnswered = true
    if (event === 'authenticationSASL' && Array.isArray(mechanisms)) {
      this.#isBound = mechanisms.includes(bindingMechanism)
    }
    return this.#requiresChannelBinding && !this.#isBound
      ? { kind: 'next target', error: new Error('channel binding required but not supported by the server') }
      : undefined
  }
}
