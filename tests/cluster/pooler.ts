export type Pooler = {
  readonly name: string
  readonly port: number
  /** Stops it at once, with all connections of its clients, and starts it again. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}
