// What a process that hashes passwords is asked, and what it responds.

export type HashTask =
  | { readonly kind: 'hash'; readonly password: string }
  | { readonly kind: 'verify'; readonly passwordHash: string; readonly password: string }

/** A hash or whether the password is right, by the kind of the task; or the message of an error. */
export type HashResult = { readonly result: string | boolean } | { readonly error: string }

/**
 * Which processes go before one that hashes passwords, when all CPUs are busy.
 *
 * - `lowest`: all others, so that it may get no processor time at all
 * - `low`: it gets about a thirtieth of what the thread of requests gets
 */
export type HashPriority = 'lowest' | 'low'
