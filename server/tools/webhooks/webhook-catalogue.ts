// What the catalogue of the database says about webhooks, and about tables that are to get one.
import { rowsOf, type RunClientQuery } from '../../catalogue/introspection.ts'
import { requestHeaders, shownHeaders, urlWithoutSecrets } from '../../services/console/hidden-secrets.ts'
import { listWebhooks, type Webhook } from '../../services/webhooks/webhook-triggers.ts'
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

/** Triggers that are read. */
const mostTriggers = 100_000

export type CountedWebhook = Webhook & { readonly waiting: number; readonly dead: number }

const countsSql = `
select webhook, count(*) filter (where state in ('waiting', 'sending'))::integer as waiting,
  count(*) filter (where state = 'dead')::integer as dead
from rowhouse.calls where webhook is not null and state <> 'delivered' group by webhook`

/** All webhooks of the database, without what may be secret, and with how many of their calls wait or are put aside. */
export async function countedWebhooks(query: RunClientQuery): Promise<readonly CountedWebhook[]> {
  const webhooks = await listWebhooks(rowsOf(query), mostTriggers)
  const { rows } = await query(countsSql)
  const counts = new Map(rows.map((row) => [row.webhook, row as { waiting: number; dead: number }]))
  return webhooks.map((webhook) => {
    const { waiting = 0, dead = 0 } = counts.get(webhook.webhook) ?? {}
    return {
      ...webhook,
      url: urlWithoutSecrets(webhook.url),
      headers: shownHeaders(requestHeaders(webhook.headers)),
      waiting,
      dead,
    }
  })
}
