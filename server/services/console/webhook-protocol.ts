// What the page of webhooks and its routes exchange. The page imports these types, too, so this file imports nothing.

/** `GET /console/api/webhooks` */
export type WebhookReport = {
  readonly figures: CallFigures
  readonly webhooks: readonly WebhookEntry[]
}

export type CallFigures = {
  readonly waiting: number
  readonly sending: number
  readonly dead: number
  /** Milliseconds since the oldest call that waits was caused; null if no call waits. */
  readonly oldestWaiting: number | null
}

/** Triggers of a table that send the same, for one or several events. */
export type WebhookEntry = {
  /** As calls name it: `public.orders.notify`. */
  readonly name: string
  /** `public.orders` */
  readonly table: string
  /** `rowhouse`: of `rowhouse webhook add`; `supabase`: of `supabase_functions.http_request`. */
  readonly kind: 'rowhouse' | 'supabase'
  readonly events: readonly string[]
  readonly method: string
  /** Without secrets. */
  readonly url: string
  /** Of the rows that are sent; null for all. */
  readonly condition: string | null
  /** Name of the secret that signs its calls. */
  readonly secret: string | null
  /** Columns: calls about rows with the same values are sent one after the other. */
  readonly key: readonly string[]
  /** Names of the headers that are sent. */
  readonly headers: readonly string[]
  readonly isEnabled: boolean
}

export type CallState = 'waiting' | 'sending' | 'delivered' | 'dead'

/** Query of `GET /console/api/webhooks/calls`. */
export type CallsQuery = {
  /** `waiting` includes those that are being sent. */
  readonly state?: 'waiting' | 'delivered' | 'dead'
  /** Name of the webhook, or its end. */
  readonly webhook?: string
  /** What the URL before its query string contains. */
  readonly text?: string
  /** Id of a call: older ones are returned. */
  readonly before?: string
}

/** `GET /console/api/webhooks/calls`: the newest first. */
export type CallPage = {
  readonly items: readonly CallEntry[]
  /** `before` of the next page; null on the last page. */
  readonly next: string | null
}

export type CallEntry = {
  readonly id: string
  /** Null for calls of `net.http_post` and the like. */
  readonly webhook: string | null
  readonly method: string
  /** Without secrets; cut. */
  readonly url: string
  readonly state: CallState
  readonly attempts: number
  readonly createdAt: string
  /** When it is sent, at the earliest; null unless it waits. */
  readonly nextAt: string | null
  /** Status of the last response. */
  readonly status: number | null
  /** Why the last attempt failed, or why it was put aside; cut. */
  readonly error: string | null
}

/** `GET /console/api/webhooks/calls/{id}` */
export type CallDetails = CallEntry & {
  /** The value of a header that may be a secret is null. */
  readonly headers: HiddenHeaders
  readonly body: CutText | null
  readonly createdBy: string
  readonly secret: string | null
  readonly key: string | null
  /** Whether it waits until another call with its key is finished. */
  readonly isBehind: boolean
  /** How many calls have caused each other, with this one. */
  readonly depth: number
  /** Whether it is sent again after an error. */
  readonly retries: boolean
  /** In milliseconds. */
  readonly timeout: number
  readonly firstAttemptAt: string | null
  readonly lastAttemptAt: string | null
  readonly finishedAt: string | null
  /** Of the last attempt, in milliseconds. */
  readonly duration: number | null
  /** Of the last response; null without one. */
  readonly responseHeaders: HiddenHeaders | null
  readonly response: CutText | null
}

export type HiddenHeaders = readonly (readonly [name: string, value: string | null])[]

export type CutText = {
  readonly text: string
  /** Bytes of the whole. */
  readonly bytes: number
  readonly isCut: boolean
}

/** Body of `POST /console/api/webhooks/resend`: which of the calls that were put aside are sent again. */
export type ResendRequest = Pick<CallsQuery, 'webhook' | 'text'> & {
  /** `last` of the former response. */
  readonly after?: string
}

/** Its response. */
export type ResendReport = {
  readonly sent: number
  /** Where the next request goes on; null if there are no more. */
  readonly last: string | null
}

export type NewWebhookEvent = 'insert' | 'update' | 'delete'

/** Body of `POST /console/api/webhooks/sql` */
export type NewWebhook = {
  /** As in SQL. */
  readonly table: string
  readonly events: readonly NewWebhookEvent[]
  readonly url: string
  /** By default that of the table. */
  readonly name?: string
  /** SQL about the rows `new` and `old`. */
  readonly when?: string
  /** Name of the secret that signs its calls. */
  readonly secret?: string
  /** Columns: calls about rows with the same values are sent one after the other. */
  readonly key?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds. */
  readonly timeout?: number
}

/** Its response: the migration, and its name. */
export type WebhookMigration = { readonly name: string; readonly sql: string }
