// The settings of outgoing calls. The table is in `config/webhooks-settings.ts`.

export type WebhooksSettings = {
  /** Names, addresses and networks that calls may reach although they are not public. */
  readonly webhooksAllowedHosts: readonly string[]
  /** Attempts after which a call is put aside. */
  readonly webhooksMaxAttempts: number
  /** Seconds between two attempts, at most. */
  readonly webhooksMaxPause: number
  /** Milliseconds that a call may take, whatever its own limit is. */
  readonly webhooksMaxTimeout: number
  /** Calls that a process sends at the same time. */
  readonly webhooksConcurrency: number
  /** Of these, calls to the same host. */
  readonly webhooksHostConcurrency: number
  /** Bytes that are kept of the response to a call of `net.http_*`. */
  readonly webhooksMaxResponseBytes: number
  /** Seconds for which delivered calls are kept. */
  readonly webhooksKeepDelivered: number
  /** Seconds for which calls that were put aside are kept. */
  readonly webhooksKeepDead: number
}
