/** The connection string of a database for a login role. */
export type UriOf = (database: string, login: string) => string

/** Connection strings for a port where every connection is trusted. */
export const trustedUri =
  (port: number): UriOf =>
  (database, login) =>
    `postgresql://${login}@127.0.0.1:${port}/${encodeURIComponent(database)}`

export type Pooler = {
  readonly name: string
  readonly port: number
  readonly uriOf: UriOf
  /** Stops it at once, with all connections of its clients, and starts it again. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}
