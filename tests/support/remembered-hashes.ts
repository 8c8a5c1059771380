// Hashes the passwords of all services of a test's process. Most accounts of tests have the same password, whose hash takes some
// 30 ms, and each service would start a process of its own, which takes ten times as long.
import { HashProcesses, type PasswordHasher } from '../../server/services/accounts/hash-processes.ts'

/** Remembers results: equal passwords get equal hashes. */
export class RememberedHashes implements PasswordHasher {
  readonly #processes = new HashProcesses()
  readonly #hashes = new Map<string, Promise<string>>()
  readonly #comparisons = new Map<string, Promise<boolean>>()

  hash(password: string): Promise<string> {
    return remembered(this.#hashes, password, () => this.#processes.hash(password))
  }

  verify(passwordHash: string, password: string): Promise<boolean> {
    const pair = JSON.stringify([passwordHash, password])
    return remembered(this.#comparisons, pair, () => this.#processes.verify(passwordHash, password))
  }
}

function remembered<Result>(
  results: Map<string, Promise<Result>>,
  key: string,
  compute: () => Promise<Result>,
): Promise<Result> {
  const known = results.get(key)
  if (known !== undefined) return known
  const result = compute()
  results.set(key, result)
  // A failure is not remembered.
  result.catch(() => results.delete(key))
  return result
}
