// Who waits for an answer, as far as the database needs to know.

export type Caller = {
  /** Whether the caller no longer waits. */
  readonly isGone: boolean
  /** Calls `listener` when the caller stops waiting. Returns a function that removes the listener. */
  readonly onGone: (listener: () => void) => () => void
}
