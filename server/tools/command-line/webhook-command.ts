// `rowhouse webhook`: webhooks of tables, and the secrets that their calls are signed with.
import { InvalidArgumentError, type Command } from 'commander'
import type { CountedWebhook } from '../webhooks/webhook-catalogue.ts'
import type { WebhookEvent } from '../webhooks/webhook-sql.ts'
import type { ConnectionWish, Dependencies } from './dependencies.ts'
import { printMigration, withMigrationOptions, type MigrationOptions } from './printed-migration.ts'
import { printable, textTable } from './text-table.ts'

type Shared = { readonly json?: true; readonly config?: string }
type AddOptions = MigrationOptions & {
  readonly on: readonly WebhookEvent[]
  readonly url: string
  readonly name?: string
  readonly when?: string
  readonly secret?: string
  readonly key?: readonly string[]
  readonly header?: Readonly<Record<string, string>>
  readonly timeout?: number
}
type SecretOptions = Shared & { readonly replace?: true; readonly validFor: string }

const owner: ConnectionWish = { role: 'owner', creates: false }

export function addWebhook(program: Command, dependencies: Dependencies): void {
  const webhook = program.command('webhook').description('call a URL when rows of a table change').helpCommand(false)
  withMigrationOptions(
    webhook
      .command('add')
      .description('print the migration that creates a webhook')
      .argument('<table>', 'a name such as public.orders')
      .requiredOption('--on <events>', 'insert, update and delete, separated by commas', readEvents)
      .requiredOption('--url <url>', 'the receiver: http or https')
      .option('--when <condition>', "SQL about the rows new and old: 'new.total > 100'")
      .option('--secret <name>', 'sign the calls with the secret of this name, which the migration creates')
      .option('--key <columns>', 'send calls about rows with the same values one after the other', readColumns)
      .option('--header <header>', "a header such as 'Authorization: Bearer …'; may be repeated", readHeader)
      .option('--timeout <ms>', 'how long the receiver may take, in milliseconds; 10000 by default', readTimeout)
      .option('--name <name>', 'name of the webhook; by default that of the table with _webhook'),
  ).action(async (table: string, _own: unknown, command: Command) => {
    await printWebhookMigration(table, command.optsWithGlobals<AddOptions>(), dependencies)
  })
  webhook
    .command('list')
    .description('list the webhooks of all tables')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const { countedWebhooks, requireCalls } = await import('../webhooks/webhook-catalogue.ts')
      const webhooks = await dependencies.withDatabase(dependencies.loadConfig(config), owner, async ({ query }) => {
        await requireCalls(query)
        return countedWebhooks(query)
      })
      dependencies.print(json ? `${JSON.stringify(webhooks)}\n` : `${webhooksTable(webhooks)}\n`)
    })
  webhook
    .command('secret')
    .description('print the secret of a name, for the receiver, and create it if it does not exist')
    .argument('<name>', 'name of the secret')
    .option('--replace', 'create another one; calls are signed with both for a time')
    .option('--valid-for <interval>', 'how long the former one is still used', '1 day')
    .option('-c, --config <file>', 'configuration file')
    .action(async (name: string, _own: unknown, command: Command) => {
      await printSecrets(name, command.optsWithGlobals<SecretOptions>(), dependencies)
    })
}

async function printWebhookMigration(table: string, options: AddOptions, dependencies: Dependencies): Promise<void> {
  const { newWebhookMigration } = await import('../webhooks/webhook-catalogue.ts')
  const { name, on: events, url, when, secret, key, header: headers, timeout: timeoutMs } = options
  const sql = await dependencies.withDatabase(dependencies.loadConfig(options.config), owner, ({ query }) =>
    newWebhookMigration(query, { table, name, events, url, when, secret, key, headers, timeoutMs }),
  )
  await printMigration(`webhook ${table} ${events.join(' ')}`, sql, options, dependencies)
}

async function printSecrets(
  name: string,
  { json, config, replace, validFor }: SecretOptions,
  { loadConfig, withDatabase, print }: Dependencies,
): Promise<void> {
  const { requireCalls } = await import('../webhooks/webhook-catalogue.ts')
  const { changeSecret } = await import('../webhooks/webhook-secrets.ts')
  const secrets = await withDatabase(loadConfig(config), owner, async ({ query }) => {
    await requireCalls(query)
    return changeSecret(query, name, replace ? { kind: 'replace', validFor } : { kind: 'create' })
  })
  if (json) return print(`${JSON.stringify(secrets)}\n`)
  print(
    secrets
      .map(({ secret, expiresAt }) => (expiresAt === null ? `${secret}\n` : `${secret}  until ${expiresAt}\n`))
      .join(''),
  )
}

function webhooksTable(webhooks: readonly CountedWebhook[]): string {
  if (webhooks.length === 0) {
    return 'There are no webhooks. To print the migration for one: rowhouse webhook add public.orders --on insert --url https://…'
  }
  return textTable(
    [
      { title: 'WEBHOOK', width: 40 },
      { title: 'ON', width: 22 },
      { title: 'URL', width: 44 },
      { title: 'WHEN', width: 30 },
      { title: 'SIGNED WITH', width: 16 },
      { title: 'WAITING', width: 8 },
      { title: 'DEAD', width: 8 },
    ],
    webhooks.map(({ webhook, events, url, when, secret, isSupabase, isEnabled, waiting, dead }) => [
      printable(webhook) + (isEnabled ? '' : ' (disabled)'),
      events.join(', '),
      printable(url),
      printable(when ?? ''),
      isSupabase ? 'not signed' : printable(secret ?? 'not signed'),
      String(waiting),
      String(dead),
    ]),
  )
}

const separated = (text: string): readonly string[] => text.split(',').map((part) => part.trim())

/** @throws InvalidArgumentError, which commander prints */
function readEvents(text: string): readonly WebhookEvent[] {
  const allowed = new Set<string>(['insert', 'update', 'delete'])
  const events = [...new Set(separated(text.toLowerCase()))]
  if (!events.every((event): event is WebhookEvent => allowed.has(event)))
    throw new InvalidArgumentError('Allowed are insert, update and delete, separated by commas.')
  return events
}

/** @throws InvalidArgumentError, which commander prints */
function readColumns(text: string): readonly string[] {
  const columns = separated(text)
  if (columns.includes('')) throw new InvalidArgumentError('Allowed are names of columns, separated by commas.')
  return columns
}

/** @throws InvalidArgumentError, which commander prints */
function readHeader(text: string, others: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('A header has a name, a colon and a value.')
  return { ...others, [name]: value }
}

/** @throws InvalidArgumentError, which commander prints */
function readTimeout(text: string): number {
  const timeout = Number(text)
  if (!/^\d{1,9}$/.test(text) || timeout < 1)
    throw new InvalidArgumentError('Allowed is a number of milliseconds, at least 1.')
  return timeout
}
