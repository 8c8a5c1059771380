// The keys for development in the data folder of the embedded database.
import { readPrivate } from '../postgres/embedded/private-file.ts'

export type DevelopmentKeys = {
  /** Acts as `anon`. */
  readonly publishableKey: string
  /** Acts as `service_role`, which bypasses all policies. */
  readonly secretKey: string
  /** The user of the examples. The secret key belongs to no user, so it has no `auth.uid()`. */
  readonly user: {
    readonly id: string
    readonly email: string
    readonly password: string
    /** Acts as `authenticated`, as this user. */
    readonly key: string
  }
}

/** The file of the development keys in the data folder. */
export const keysFile = 'keys.json'

/** The keys of a file; null if it is missing or not valid. */
export const readDevelopmentKeys = async (file: string): Promise<DevelopmentKeys | null> =>
  parseKeys(await readPrivate(file))

function parseKeys(text: string | null): DevelopmentKeys | null {
  if (text === null) return null
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const { publishableKey, secretKey, user } = asRecord(value)
  const { id, email, password, key } = asRecord(user)
  const all = [publishableKey, secretKey, id, email, password, key]
  // An invalid file is replaced, because new development keys are no loss.
  return all.every((text) => typeof text === 'string') ? (value as DevelopmentKeys) : null
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
