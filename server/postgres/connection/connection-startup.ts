// Follows a connection from the startup message until it is ready, and decides whether to use it.
import type { Duplex } from 'node:stream'
import type { SessionAttributes } from './connection-plan.ts'

/** What the server reports about a session. Requires PostgreSQL 14. */
export type ServerState = { readonly isStandby: boolean; readonly isReadOnly: boolean }

export type Verdict =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'next way' | 'next target'; readonly error: Error }
  | { readonly kind: 'given up' }

export const closedByServer = 'server closed the connection unexpectedly'

const cannotConnectNow = '57P03'
const bindingMechanism = 'SCRAM-SHA-256-PLUS'

/** Why a session does not satisfy `target_session_attrs`; undefined if it does. */
export function sessionFault(wanted: SessionAttributes, { isStandby, isReadOnly }: ServerState): string | undefined {
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
    case 'prefer-standby':
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
}

/** Evaluates the events of one attempt until its outcome is known. */
export class Startup {
  readonly #canFallBack: boolean
  readonly #requiresChannelBinding: boolean
  readonly #sessionFault: (session: ServerState) => string | undefined
  #session: ServerState = { isStandby: false, isReadOnly: false }
  #hasAnswered = false
  #isBound = false

  constructor(
    canFallBack: boolean,
    requiresChannelBinding: boolean,
    fault: (session: ServerState) => string | undefined,
  ) {
    this.#canFallBack = canFallBack
    this.#requiresChannelBinding = requiresChannelBinding
    this.#sessionFault = fault
  }

  /** The outcome, once known. An error that ends all attempts counts as accepted, so that the client handles it. */
  judge(event: string | symbol, value: unknown, stream: Duplex): Verdict | undefined {
    const message = (typeof value === 'object' && value !== null ? value : {}) as Message
    switch (event) {
      case 'parameterStatus':
        this.#note(message)
        return undefined
      case 'errorMessage':
        if (message.code === cannotConnectNow) return { kind: 'next target', error: value as Error }
        // Rejected before authentication: another kind of encryption may be accepted.
        return this.#canFallBack && !this.#hasAnswered
          ? { kind: 'next way', error: value as Error }
          : { kind: 'accepted' }
      case 'readyForQuery': {
        const fault = this.#sessionFault(this.#session)
        return fault === undefined ? { kind: 'accepted' } : { kind: 'next target', error: new Error(fault) }
      }
      case 'error':
        return { kind: 'next target', error: value as Error }
      case 'end':
        return stream.readableEnded ? { kind: 'next target', error: new Error(closedByServer) } : { kind: 'given up' }
      default:
        return String(event).startsWith('authentication') ? this.#authenticates(String(event), message) : undefined
    }
  }

  #note({ parameterName, parameterValue }: Message): void {
    if (parameterName === 'in_hot_standby') this.#session = { ...this.#session, isStandby: parameterValue === 'on' }
    if (parameterName === 'default_transaction_read_only') {
      this.#session = { ...this.#session, isReadOnly: parameterValue === 'on' }
    }
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
