// Messages between the server and the process of a function, as JSON.
import type { LogLevel } from './function-source.ts'

/** Header with the id of a request, which only the worker sees. */
export const requestIdHeader = 'x-rowhouse-request'

/** Bytes of the headers of a request or response. */
export const mostHeaderBytes = 64 * 1024

/** To a new worker: what to run. */
export type BootMessage = {
  readonly kind: 'boot'
  /** URL of the compiled function. */
  readonly bundle: string
  /** Path of the socket on which the worker receives calls. */
  readonly socket: string
  /** Folder whose files the function reads. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
}

/** Why a worker ends, as `beforeunload` events of Supabase's edge runtime say it. */
export type EndReason = 'early_drop' | 'wall_clock' | 'memory' | 'termination'

/** File descriptor of the channel in a worker. */
export const channelDescriptor = 3

export type ToWorker = BootMessage | { readonly kind: 'ping' } | { readonly kind: 'end'; readonly reason: EndReason }

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly detail: string }
  /** Reply to a ping, with the resident memory in bytes. */
  | { readonly kind: 'pong'; readonly memory: number }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly requestId?: string; readonly message: string }
  /** Whether promises of `waitUntil` are pending. */
  | { readonly kind: 'waiting'; readonly isWaiting: boolean }
  /** An error outside of a handler: the worker should receive no further calls. */
  | { readonly kind: 'unreliable' }

const levels: ReadonlySet<unknown> = new Set<LogLevel>(['debug', 'info', 'warn', 'error'])

/** Whether a value is a message of a worker. A function can write anything to the channel. */
export function isFromWorker(value: unknown): value is FromWorker {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false
  const { kind, detail, memory, level, requestId, message, isWaiting } = value as Record<string, unknown>
  switch (kind as FromWorker['kind']) {
    case 'ready':
    case 'unreliable':
      return true
    case 'failed':
      return typeof detail === 'string'
    case 'pong':
      return typeof memory === 'number'
    case 'log': {
      const isKnown = requestId === undefined || typeof requestId === 'string'
      return levels.has(level) && typeof message === 'string' && isKnown
    }
    case 'waiting':
      return typeof isWaiting === 'boolean'
    default:
      return false
  }
}
