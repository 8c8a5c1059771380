// Hashes the passwords of all services of a test's process. Most accounts of tests have the same password, whose hash takes some
// 30 ms, and each service would start a process of its own, which takes ten times as long.
import type { PasswordHasher } from '../../server/services/accounts/hash-processes.ts'

/** A hasher that remembers the results of another one: equal passwords get equal hashes. */
export function rememberHashes({ hash, verify }: PasswordHasher): PasswordHasher {
  return { hash: remembering(hash), verify: remembering(verify) }
}

function remembering<Arguments extends readonly string[], Result>(
  compute: (...given: Arguments) => Promise<Result>,
): (...given: Arguments) => Promise<Result> {
  const results = new Map<string, Promise<Result>>()
  return (...given) => {
    const key = JSON.stringify(given)
    const known = results.get(key)
    if (known !== undefined) return known
    const result = compute(...given)
    results.set(key, result)
    // A failure is not remembered.
    result.catch(() => results.delete(key))
    return result
  }
}
