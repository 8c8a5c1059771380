// The comparison of a password with that of an account, for all routes that ask for one.
import type { AttemptLimits } from './attempt-limit.ts'
import type { ClientPasswords } from './password.ts'

/** An account as far as the comparison needs it. */
export type PasswordOwner = {
  readonly id: string
  /** Undefined for an account without a password. */
  readonly passwordHash: string | undefined
}

export type PasswordAttempt = {
  readonly password: string
  /** E-mail address or phone number: attempts are counted for it, whether there is an account or not. */
  readonly address: string
  readonly network: string
}

export type PasswordAttemptTools = {
  readonly passwords: ClientPasswords
  readonly limits: AttemptLimits
  /** The hook for attempts. It may reject one by throwing. */
  readonly reportAttempt: ((attempt: { readonly userId: string; readonly valid: boolean }) => Promise<void>) | undefined
}

/**
 * Counts an attempt, compares the password, and reports the result to the hook.
 *
 * @param find looks up the account, after the attempt was counted
 * @returns the account and the hash of its password; undefined if there is none, or the password is wrong
 * @throws Failure 429 after too many attempts; the error of the hook
 */
export async function attemptPassword<Account extends PasswordOwner>(
  { passwords, limits, reportAttempt }: PasswordAttemptTools,
  { password, address, network }: PasswordAttempt,
  find: () => Promise<Account | undefined>,
): Promise<(Account & { readonly passwordHash: string }) | undefined> {
  const attempt = await limits.guess(address, network)
  const account = await find()
  const passwordHash = account?.passwordHash
  const isRight = await passwords.verify(passwordHash, password)
  if (account) await reportAttempt?.({ userId: account.id, valid: isRight })
  if (!account || passwordHash === undefined || !isRight) return undefined
  await attempt.giveBack()
  return { ...account, passwordHash }
}
