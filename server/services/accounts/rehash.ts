// Hashes of imported accounts become hashes of the current algorithm when their owners sign in.
import { isOutdated } from './password-hash.ts'
import type { ClientPasswords } from './password.ts'

/** The stored hash of one account's password. */
export type StoredHash = {
  /** Replaces the hash if it is still `old`. Returns whether it was. */
  readonly replace: (old: string, replacement: string) => Promise<boolean>
  /** The hash that is stored now; undefined if the account has none, or is gone. */
  readonly find: () => Promise<string | undefined>
}

/**
 * The stored hash of a password that was compared with `hash`, after an outdated one has been replaced. When another
 * sign-in with the same password has replaced it meanwhile, the result is that sign-in's hash; when the password has
 * changed, it is the old one, which starts no session.
 */
export async function currentHash(
  passwords: ClientPasswords,
  password: string,
  hash: string,
  stored: StoredHash,
): Promise<string> {
  if (!isOutdated(hash)) return hash
  const replacement = await passwords.hash(password)
  if (await stored.replace(hash, replacement)) return replacement
  const found = await stored.find()
  return found !== undefined && (await passwords.verify(found, password)) ? found : hash
}
