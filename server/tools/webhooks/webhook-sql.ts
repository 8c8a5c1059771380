// The migration that creates a webhook: triggers that call the function rowhouse.webhook().
import { identifier, literal } from '../../text/sql-text.ts'

/** A webhook or its migration is not possible as it was asked for. The message is a sentence for the user. */
export class WebhookError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'WebhookError'
  }
}

export type WebhookEvent = 'insert' | 'update' | 'delete'

export type WebhookWish = {
  readonly name: string
  readonly events: readonly WebhookEvent[]
  readonly url: string
  /** SQL about the rows `new` and `old`. */
  readonly when?: string | undefined
  /** Name of the secret that calls are signed with. */
  readonly secret?: string | undefined
  /** Columns of the key: calls about rows with the same values are sent one after the other. */
  readonly key?: readonly string[] | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly timeoutMs?: number | undefined
}

export type WebhookTable = { readonly schema: string; readonly name: string }

/** Which rows a condition of each event can refer to. */
export const rowNames: Readonly<Record<WebhookEvent, readonly string[]>> = {
  insert: ['new'],
  update: ['new', 'old'],
  delete: ['old'],
}

const transitionTables: Readonly<Record<WebhookEvent, string>> = {
  insert: 'new table as changed_rows',
  update: 'old table as old_rows new table as changed_rows',
  delete: 'old table as changed_rows',
}

/**
 * The migration. It may run again.
 *
 * @throws WebhookError
 */
export function webhookMigration(table: WebhookTable, wish: WebhookWish): string {
  checkWish(wish)
  const { name, events, url, secret } = wish
  const relation = `${identifier(table.schema)}.${identifier(table.name)}`
  const options = JSON.stringify({
    name,
    ...(secret === undefined ? {} : { secret }),
    ...(wish.key === undefined ? {} : { key: wish.key }),
    ...(wish.when === undefined ? {} : { when: wish.when }),
    ...(wish.headers === undefined ? {} : { headers: wish.headers }),
    ...(wish.timeoutMs === undefined ? {} : { timeout_ms: wish.timeoutMs }),
  })
  const triggers = events.map(
    (event) =>
      `create or replace trigger ${identifier(`${name}_on_${event}`)} after ${event} on ${relation}\n` +
      `  referencing ${transitionTables[event]}\n` +
      `  for each statement execute function rowhouse.webhook(${literal(url)}, ${literal(options)});\n`,
  )
  return [
    ...(secret === undefined
      ? []
      : [
          `-- Creates the secret, unless it exists. \`rowhouse webhook secret ${secret}\` shows it.\n` +
            `select rowhouse.create_webhook_secret(${literal(secret)});\n`,
        ]),
    ...triggers,
  ].join('\n')
}

/** Names of triggers have at most 63 bytes, with the event at their end. */
const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,49}$/

function checkWish({ name, url, secret, timeoutMs, headers = {} }: WebhookWish): void {
  if (!namePattern.test(name)) {
    throw new WebhookError(
      `The name ${JSON.stringify(name)} is not possible: use up to 50 letters, digits and underscores.`,
    )
  }
  if (secret !== undefined && !/^[A-Za-z0-9_.-]{1,100}$/.test(secret)) {
    throw new WebhookError(
      `The name of a secret ${JSON.stringify(secret)} is not possible: use letters, digits, hyphens, dots and underscores.`,
    )
  }
  if (timeoutMs !== undefined && !(Number.isInteger(timeoutMs) && timeoutMs >= 1)) {
    throw new WebhookError('The timeout must be a number of milliseconds, at least 1.')
  }
  checkUrl(url)
  for (const [header, value] of Object.entries(headers)) {
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(header) || /[^\t\P{Cc}]/u.test(value)) {
      throw new WebhookError(`The header ${JSON.stringify(header)} has a character that headers cannot have.`)
    }
  }
}

/** @throws WebhookError, which does not repeat a password */
function checkUrl(text: string): void {
  const shown = JSON.stringify(text.replace(/\/\/[^/?#]*@/, '//…@'))
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || !/^https?:\/\//i.test(text)) {
    throw new WebhookError(`The URL ${shown} is not possible: it must begin with http:// or https://.`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new WebhookError(
      `The URL ${shown} has a user name or password. Send them with --header 'Authorization: Basic …' instead.`,
    )
  }
  if (/[\s\p{Cc}]/u.test(text) || Buffer.byteLength(text) > 8192) {
    throw new WebhookError('The URL has a space or a control character, or more than 8192 bytes.')
  }
}
