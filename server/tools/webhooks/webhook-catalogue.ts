// What the catalogue of the database says about webhooks, and about tables that are to get one.
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import { identifier } from '../../text/sql-text.ts'
import { rowNames, WebhookError, webhookMigration, type WebhookTable, type WebhookWish } from './webhook-sql.ts'

/** @throws WebhookError for a database without the tables of calls */
export async function requireCalls(query: RunClientQuery): Promise<void> {
  const { rows } = await query("select to_regclass('rowhouse.calls') is not null as are_there")
  if (rows[0]?.are_there === true) return
  throw new WebhookError(
    'This database has no table for outgoing calls. Run `rowhouse migrate`, with `webhooks` among the SERVICES.',
  )
}

const unsuitable: Readonly<Record<string, string>> = {
  v: 'a view: add the webhook to the tables that it shows',
  m: 'a materialized view: add the webhook to the tables that it shows',
  f: 'a foreign table: add the webhook where the table is',
  S: 'a sequence',
  i: 'an index',
  I: 'an index',
  c: 'a type',
}

/**
 * The table of that name.
 *
 * @param name as in SQL, with or without a schema
 * @throws WebhookError
 */
export async function findTable(
  query: RunClientQuery,
  name: string,
): Promise<WebhookTable & { readonly columns: readonly string[] }> {
  const missing = (reason = `There is no table ${name}.`): WebhookError => new WebhookError(reason)
  const { rows: ids } = await query('select pg_catalog.to_regclass($1)::oid::text as id', [name]).catch(
    (error: unknown) => {
      throw missing(`${name} is not the name of a table: ${error instanceof Error ? error.message : String(error)}`)
    },
  )
  if (typeof ids[0]?.id !== 'string') throw missing()
  const { rows } = await query(
    `select nspname::text as schema, relname::text as name, relkind::text as kind, relispartition as is_partition,
       array(
         select attname::text from pg_catalog.pg_attribute where attrelid = relation.oid and attnum > 0 and not attisdropped
         order by attnum
       ) as columns
     from pg_catalog.pg_class as relation join pg_catalog.pg_namespace as schema on schema.oid = relnamespace
     where relation.oid = $1::pg_catalog.oid`,
    [ids[0].id],
  )
  const found = rows[0] as
    (WebhookTable & { kind: string; is_partition: boolean; columns: readonly string[] }) | undefined
  if (!found) throw missing()
  const reason = unsuitable[found.kind]
  if (reason !== undefined) throw missing(`${name} is ${reason}.`)
  if (found.is_partition) throw missing(`${name} is a partition: add the webhook to the whole table.`)
  if (found.schema === 'rowhouse')
    throw missing(`${name} belongs to the server, which calls for each of its changes would not end.`)
  return found
}

/** What is asked for, with the name of the table as in SQL. By default, the webhook has the name of the table with `_webhook`. */
export type NewWebhook = Omit<WebhookWish, 'name'> & { readonly table: string; readonly name?: string | undefined }

/**
 * The migration of a webhook, which is checked against the database. Changes nothing.
 *
 * @param query runs statements on one connection, of the role that owns the schema
 * @throws WebhookError
 */
export async function newWebhookMigration(
  query: RunClientQuery,
  { table: name, ...wish }: NewWebhook,
): Promise<string> {
  await requireCalls(query)
  const table = await findTable(query, name)
  const named = { ...wish, name: wish.name ?? `${table.name}_webhook` }
  const migration = webhookMigration(table, named)
  await checkAgainst(query, table, named)
  return migration
}

/**
 * Checks the key and the condition of a webhook.
 *
 * @param query runs statements on one connection
 * @throws WebhookError
 */
export async function checkAgainst(
  query: RunClientQuery,
  table: WebhookTable & { readonly columns: readonly string[] },
  { key = [], when, events }: WebhookWish,
): Promise<void> {
  const missing = key.filter((column) => !table.columns.includes(column))
  if (missing.length > 0) {
    throw new WebhookError(
      `${table.schema}.${table.name} has no column ${missing.join(', ')}. It has: ${table.columns.join(', ')}.`,
    )
  }
  if (when === undefined) return
  const relation = `${identifier(table.schema)}.${identifier(table.name)}`
  await query('begin transaction read only')
  try {
    // As in the trigger.
    await query("set local search_path = ''")
    for (const event of events) {
      const from = rowNames[event].map((row) => `${relation} as ${row}`).join(' cross join ')
      await query(`explain select from ${from} where (${when}\n)`).catch((error: unknown) => {
        throw new WebhookError(
          `The condition does not work for ${event}: ${error instanceof Error ? error.message : String(error)}\n` +
            `It can refer to the columns of ${rowNames[event].join(' and ')}, and names other functions and tables with their schema.`,
        )
      })
    }
  } finally {
    await query('rollback')
  }
}

export type Webhook = {
  /** `schema.table.name`, as in rowhouse.calls. */
  readonly webhook: string
  readonly table: string
  readonly events: readonly string[]
  readonly url: string
  readonly when: string | null
  readonly secret: string | null
  readonly key: readonly string[]
  /** Whether it is a trigger of Supabase's, which calls supabase_functions.http_request. */
  readonly isSupabase: boolean
  readonly isEnabled: boolean
  readonly waiting: number
  readonly dead: number
}

type TriggerRow = {
  readonly schema: string
  readonly table: string
  readonly trigger: string
  readonly args: string
  readonly type: number
  readonly is_supabase: boolean
  readonly is_enabled: boolean
}

const triggersSql = `
select nspname::text as schema, relname::text as table, tgname::text as trigger, encode(tgargs, 'base64') as args, tgtype::integer as type,
  tgfoid = pg_catalog.to_regprocedure('supabase_functions.http_request()') as is_supabase, tgenabled <> 'D' as is_enabled
from pg_catalog.pg_trigger
join pg_catalog.pg_class on pg_class.oid = tgrelid
join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
where tgparentid = 0 and tgfoid in (
  pg_catalog.to_regprocedure('rowhouse.webhook()'), pg_catalog.to_regprocedure('supabase_functions.http_request()')
)
order by 1, 2, 3`

const countsSql = `
select webhook, count(*) filter (where state in ('waiting', 'sending'))::integer as waiting,
  count(*) filter (where state = 'dead')::integer as dead
from rowhouse.calls where webhook is not null and state <> 'delivered' group by webhook`

/** All webhooks of the database, with how many of their calls wait or are put aside. */
export async function listWebhooks(query: RunClientQuery): Promise<readonly Webhook[]> {
  const { rows } = await query(triggersSql)
  const { rows: counts } = await query(countsSql)
  const countOf = new Map(counts.map((row) => [row.webhook, row as { waiting: number; dead: number }]))
  const found = new Map<string, Webhook>()
  for (const row of rows as readonly TriggerRow[]) {
    const webhook = readTrigger(row)
    const { waiting = 0, dead = 0 } = countOf.get(webhook.webhook) ?? {}
    const group = JSON.stringify([webhook.webhook, webhook.url, webhook.when, webhook.isEnabled])
    const events = [...(found.get(group)?.events ?? []), ...webhook.events]
    found.set(group, { ...webhook, events, waiting, dead })
  }
  return [...found.values()]
}

/** Bits of `tgtype`. */
const eventBits = [
  [4, 'insert'],
  [16, 'update'],
  [8, 'delete'],
  [32, 'truncate'],
] as const

function readTrigger(row: TriggerRow): Webhook {
  const [url = '', text = ''] = Buffer.from(row.args, 'base64').toString().split('\0')
  const options = row.is_supabase ? {} : readOptions(text)
  const name = typeof options.name === 'string' ? options.name : row.trigger
  const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  return {
    webhook: `${row.schema}.${row.table}.${name}`,
    table: `${row.schema}.${row.table}`,
    events: eventBits.filter(([bit]) => (row.type & bit) !== 0).map(([, event]) => event),
    url,
    when: textOf(options.when),
    secret: textOf(options.secret),
    key: [options.key ?? []].flat().filter((column) => typeof column === 'string'),
    isSupabase: row.is_supabase,
    isEnabled: row.is_enabled,
    waiting: 0,
    dead: 0,
  }
}

function readOptions(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  } catch {
    // A trigger that was written by hand, and fails when it is called.
    return {}
  }
}
