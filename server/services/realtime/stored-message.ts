// A row of `realtime.messages`: what SQL has sent.

export type StoredMessage = {
  readonly id: string
  readonly topic: string
  readonly event: string
  /** JSON text; null if the message is binary. */
  readonly payload: Buffer | null
  readonly binary: Buffer | null
  readonly isPrivate: boolean
}

/** The messages that transactions insert, in the order of their commits. */
export type MessageFeed = {
  /** Begins to read, if it does not. Resolves when every message that commits from now on is reported. */
  readonly start: () => Promise<void>
  /** Stops reading soon. */
  readonly stop: () => void
}
