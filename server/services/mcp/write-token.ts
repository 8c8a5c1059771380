// Tokens that confirm a write: of one caller, for exactly one write, once, and for a short time.
import { createHash, randomBytes } from 'node:crypto'
import { isTagOf, keyFor, tagOf } from '../../rest/request/derived-key.ts'
import type { Limit, Limits } from '../limits.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** Seconds that a token is valid. */
export const tokenLifetime = 120

/** A token counts as one event. The period is longer than its lifetime, so that there is no second one. */
const useOnce: Limit = { name: 'mcp-confirmation', events: 1, period: 10 * tokenLifetime }

/** A secret for servers without any. Its tokens are valid in this process only. */
const processSecret = randomBytes(32)

/** What a token is bound to, besides the time. */
export type WriteScope = {
  /** Distinguishes the caller from all others. */
  readonly caller: string
  /** All that says what is written. */
  readonly write: readonly unknown[]
}

export type WriteTokens = {
  /** @param affected number of rows that the write affects; it may affect no more when it is confirmed */
  readonly issue: (scope: WriteScope, affected: number) => string
  /**
   * Uses a token.
   *
   * @returns the number of rows that the write may affect
   * @throws ToolRefusal for a token that was forged, is of another caller or for another write, has expired, or was used
   */
  readonly use: (token: string, scope: WriteScope) => Promise<number>
}

/** @param secrets the first one signs; all are tried. Read at each use */
export function writeTokens(
  secrets: () => readonly Uint8Array[],
  limits: Pick<Limits, 'count'>,
  now: () => number = Date.now,
): WriteTokens {
  const keys = (): readonly Buffer[] => {
    const known = secrets()
    return (known.length === 0 ? [processSecret] : known).map((secret) => keyFor(secret, 'mcp confirmation'))
  }
  return {
    issue: (scope, affected) => {
      const expiry = Math.floor(now() / 1000) + tokenLifetime
      const payload = [expiry, affected, randomBytes(12).toString('base64url')].join('.')
      const [key = Buffer.alloc(0)] = keys()
      return `${payload}.${tagOf(key, signed(payload, scope)).toString('base64url')}`
    },
    use: async (token, scope) => {
      const [, payload, expiry, affected, tag] = form.exec(token) ?? []
      const content = signed(payload ?? '', scope)
      const given = Buffer.from(tag ?? '', 'base64url')
      if (payload === undefined || !keys().some((key) => isTagOf(given, key, content))) throw notValid()
      if (Number(expiry) * 1000 < now()) throw expired()
      // The payload, because one signature can be written in several ways.
      if ((await limits.count(useOnce, [payload])) !== undefined) throw usedBefore()
      return Number(affected)
    },
  }
}

const form = /^((\d{1,12})\.(\d{1,12})\.[\w-]{16})\.([\w-]{22})$/

const signed = (payload: string, { caller, write }: WriteScope): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([payload, caller, write]))
    .digest()

const notValid = (): ToolRefusal =>
  new ToolRefusal(
    'confirm_token: is not one that preview_write has returned to this caller for exactly this write. Call preview_write again.',
  )

const expired = (): ToolRefusal =>
  new ToolRefusal(`confirm_token: is older than ${tokenLifetime} seconds. Call preview_write again.`)

const usedBefore = (): ToolRefusal =>
  new ToolRefusal('confirm_token: was used before, and each is for one write. Call preview_write again.')
