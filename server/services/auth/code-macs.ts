// Keyed hashes of codes of few digits: without the key, a reader of the database would find a code after a million
// attempts.
//
// The key is derived from the keys of access tokens (HKDF), as those of signed URLs and of cursors are: all processes of a
// cluster have it, no further setting is needed, and neither a dump nor a replica of the database contains it.
import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { derivedFromKeys, derivedSecrets, type KeySource } from '../../identity/jwt/key-set.ts'

export type CodeKeySource = KeySource & {
  /** Connection string: what the key is derived from without keys of access tokens; it is a secret of all processes, too. */
  readonly dbUri: string | null
}

export type CodeMacs = {
  /** What is stored of a code. The parts identify it. */
  readonly sign: (...parts: readonly string[]) => string
  /** What may have been stored of it: one hash for each key, because keys are replaced while codes are pending. */
  readonly candidates: (...parts: readonly string[]) => readonly string[]
}

const purpose = 'one-time codes'

/** @param source read at each call, because the keys can be reloaded */
export function createCodeMacs(source: () => CodeKeySource): CodeMacs {
  const fallback = withoutTokenKeys(source)
  const keys = derivedFromKeys(source, (current): readonly [Uint8Array, ...Uint8Array[]] => {
    const [first, ...others] = derivedSecrets(current, purpose).map(({ secret }) => secret)
    return first === undefined ? [fallback()] : [first, ...others]
  })
  return {
    sign: (...parts) => mac(keys()[0], parts),
    candidates: (...parts) => keys().map((key) => mac(key, parts)),
  }
}

const withoutTokenKeys =
  (source: () => CodeKeySource): (() => Uint8Array) =>
  () => {
    const { dbUri } = source()
    return new Uint8Array(hkdfSync('sha256', dbUri ?? randomBytes(32), '', `rowhouse ${purpose}`, 32))
  }

const mac = (key: Uint8Array, parts: readonly string[]): string =>
  createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex')
