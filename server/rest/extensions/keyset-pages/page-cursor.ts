// Cursors of keyset pages: a position in an order, as opaque text that only the server can create and read.
//
// A cursor is encrypted, because its values may be personal data, and URLs are logged. Signature and initialization
// vector are the same (SIV), so equal positions have equal cursors. https://www.rfc-editor.org/rfc/rfc5297
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import { isTagOf, keyFor, tagLength, tagOf } from '../../request/derived-key.ts'

/** A position between rows, and the direction in which the page continues from there. */
export type PageCursor = {
  /** Whether the page has the rows before the position, nearest first. */
  readonly isBackward: boolean
  /** Whether a row at the position itself belongs to the page. */
  readonly isInclusive: boolean
  /** Values of the terms of the order, in Postgres's text form; null for NULL. */
  readonly values: readonly (string | null)[]
}

/** Texts in the place of a cursor: one that this server has not created, or several. Each is an error of its own. */
export type WrongCursor = 'invalid' | 'several'

/** A cursor with the requests that it is valid for. */
export type ScopedCursor = PageCursor & {
  /** Hash of the parts of a request that determine its rows and their order; see `pageScope`. */
  readonly scope: Buffer
}

/** A request for a page, as the caller sent it. */
export type PageInput = {
  /** Undefined for the first page. */
  readonly cursor: PageCursor | undefined
  /** See `ScopedCursor`. */
  readonly scope: Buffer
  /** The parameters for links: all but the cursor, sorted by name and percent-encoded. */
  readonly query: string
}

/** Maximum length of a cursor in a URL. */
export const longestCursor = 4096

const form = /^[\w-]+$/
const version = 1
const scopeLength = 16
const backward = 1
const inclusive = 2

/**
 * Whether the value of a parameter may be a cursor. Such a value is never a filter, because a filter contains a dot.
 */
export const hasCursorForm = (text: string): boolean => form.test(text)

/** Hashes the parts of a request. Lists of different parts have different hashes. */
export function scopeOf(parts: readonly string[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}:${part}`)
  return hash.digest().subarray(0, scopeLength)
}

type Key = { readonly signing: Buffer; readonly encryption: Buffer }

const keyOf = (secret: Uint8Array): Key => ({
  signing: keyFor(secret, 'page cursor: signature'),
  encryption: keyFor(secret, 'page cursor: encryption'),
})

/** Creates and reads cursors. */
export class PageCursors {
  readonly #secrets: readonly Uint8Array[]
  #keys: readonly Key[] | undefined

  /** @param secrets at least one; the first one creates cursors, all are tried to read them */
  constructor(secrets: readonly Uint8Array[]) {
    this.#secrets = secrets
  }

  /** Derived when the first cursor is used. */
  get #derived(): readonly Key[] {
    return (this.#keys ??= this.#secrets.map(keyOf))
  }

  /** The text of a cursor; undefined when it would be longer than `longestCursor`. */
  seal({ scope, isBackward, isInclusive, values }: ScopedCursor): string | undefined {
    const [key] = this.#derived
    if (!key) throw new Error('there is no secret for cursors')
    const flags = (isBackward ? backward : 0) | (isInclusive ? inclusive : 0)
    const plain = Buffer.concat([Buffer.from([version, flags]), scope, Buffer.from(JSON.stringify(values))])
    const tag = tagOf(key.signing, plain)
    const cipher = createCipheriv('aes-256-ctr', key.encryption, tag)
    const text = Buffer.concat([tag, cipher.update(plain), cipher.final()]).toString('base64url')
    return text.length > longestCursor ? undefined : text
  }

  /** Reads a cursor; undefined when it was not created with one of the secrets, or is not complete. */
  open(text: string): ScopedCursor | undefined {
    if (text.length > longestCursor || !hasCursorForm(text)) return undefined
    const sealed = Buffer.from(text, 'base64url')
    // The last character of base64 may have unused bits: only one text of a cursor is valid.
    if (sealed.length < tagLength + 2 + scopeLength || sealed.toString('base64url') !== text) return undefined
    const tag = sealed.subarray(0, tagLength)
    for (const key of this.#derived) {
      const decipher = createDecipheriv('aes-256-ctr', key.encryption, tag)
      const plain = Buffer.concat([decipher.update(sealed.subarray(tagLength)), decipher.final()])
      if (isTagOf(tag, key.signing, plain)) return read(plain)
    }
    return undefined
  }
}

/** Reads what `seal` has written. The signature is valid, so only the version may be another one. */
function read(plain: Buffer): ScopedCursor | undefined {
  if (plain[0] !== version) return undefined
  const flags = plain[1] ?? 0
  return {
    scope: plain.subarray(2, 2 + scopeLength),
    isBackward: (flags & backward) !== 0,
    isInclusive: (flags & inclusive) !== 0,
    values: JSON.parse(plain.subarray(2 + scopeLength).toString()) as readonly (string | null)[],
  }
}
