// What the page of realtime and its route exchange. The page imports these types, too, so this file imports nothing.

/** `GET /console/api/realtime` */
export type RealtimeReport = {
  /** Whether the service was used since the process began: it starts with its first client. */
  readonly isStarted: boolean
  readonly sockets: number
  /** Messages since the process began. */
  readonly received: number
  readonly delivered: number
  readonly changes: number
  /** Why messages were dropped, and sockets and channels closed or refused, and how often. */
  readonly drops: readonly { readonly reason: string; readonly count: number }[]
  readonly log: RealtimeLog | null
  readonly topics: readonly RealtimeTopic[]
}

/** How the log of the database is read. */
export type RealtimeLog = {
  readonly state: 'stopped' | 'reading' | 'lost' | 'unavailable'
  /** What is wrong, if something is. */
  readonly message: string | null
  readonly lagBytes: number
  readonly lagSeconds: number
  readonly subscribers: number
}

/** A topic with members in this process. */
export type RealtimeTopic = {
  readonly topic: string
  readonly isPrivate: boolean
  /** Entries of presence, also of other processes. */
  readonly present: number
  readonly memberCount: number
  /** The first of them. */
  readonly members: readonly RealtimeMember[]
}

export type RealtimeMember = {
  readonly role: string
  /** Claim `sub`. */
  readonly user: string | null
  readonly isPresent: boolean
  /** What it subscribes to of row changes, as the client has sent it. */
  readonly bindings: readonly unknown[]
}
