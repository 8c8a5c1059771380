// The position of a write as signed text, which its client sends with later reads.
import type { WalPosition } from '../../../common/wal-position.ts'
import { isTagOf, keyFor, tagOf } from '../../request/derived-key.ts'

const version = '1'
/** Version, timeline and log sequence number in hexadecimal, seconds since 1970, signature. */
const form = /^1\.([\da-f]{1,8})\.([\da-f]{1,16})\.(\d{1,12})\.([\w-]{22})$/

/** Creates and reads the texts of positions. */
export class PositionTokens {
  readonly #secrets: readonly Uint8Array[]
  #keys: readonly Buffer[] | undefined

  /** @param secrets at least one; the first one signs, all are tried to verify */
  constructor(secrets: readonly Uint8Array[]) {
    this.#secrets = secrets
  }

  /** Derived when the first position is used. */
  get #derived(): readonly Buffer[] {
    return (this.#keys ??= this.#secrets.map((secret) => keyFor(secret, 'write position: signature')))
  }

  /** @param expires seconds since 1970 */
  seal({ timeline, lsn }: WalPosition, expires: number): string {
    const [key] = this.#derived
    if (!key) throw new Error('there is no secret for positions')
    const text = `${version}.${timeline.toString(16)}.${lsn.toString(16)}.${expires}`
    return `${text}.${tagOf(key, text).toString('base64url')}`
  }

  /**
   * Reads the text of a position. Undefined if it is malformed, expired, or was not signed with one of the secrets.
   *
   * @param now seconds since 1970
   */
  open(sealed: string, now: number): WalPosition | undefined {
    const [, timeline, lsn, expires, signature] = form.exec(sealed) ?? []
    if (timeline === undefined || lsn === undefined || expires === undefined || signature === undefined)
      return undefined
    if (Number(expires) <= now) return undefined
    const tag = Buffer.from(signature, 'base64url')
    const text = sealed.slice(0, -signature.length - 1)
    if (!this.#derived.some((key) => isTagOf(tag, key, text))) return undefined
    return { timeline: Number.parseInt(timeline, 16), lsn: BigInt(`0x${lsn}`) }
  }
}
