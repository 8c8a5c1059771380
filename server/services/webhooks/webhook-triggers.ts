// The webhooks of a database: triggers of `rowhouse webhook add`, and those of Supabase's database webhooks.
import type { RunQuery } from '../../catalogue/introspection.ts'
import { isJsonObject, type JsonObject } from '../../text/json-object.ts'

/** Triggers of a table that send the same, for one or several events. */
export type Webhook = {
  /** `schema.table.name`, as in rowhouse.calls. */
  readonly webhook: string
  readonly table: string
  readonly events: readonly string[]
  readonly method: string
  readonly url: string
  /** Condition of the rows that are sent; null for all. */
  readonly when: string | null
  readonly secret: string | null
  readonly key: readonly string[]
  /** Names and values. */
  readonly headers: JsonObject
  /** Whether it is a trigger of Supabase's, which calls supabase_functions.http_request. */
  readonly isSupabase: boolean
  readonly isEnabled: boolean
}

/** https://www.postgresql.org/docs/current/catalog-pg-trigger.html has the bits of `tgtype`. */
const triggers = `
select pg_namespace.nspname as schema, relname as table, tgname as trigger, encode(tgargs, 'base64') as arguments,
  called_in.nspname = 'supabase_functions' as is_supabase, tgenabled <> 'D' as is_enabled,
  array_remove(array[
    case when tgtype & 4 > 0 then 'insert' end, case when tgtype & 16 > 0 then 'update' end,
    case when tgtype & 8 > 0 then 'delete' end, case when tgtype & 32 > 0 then 'truncate' end
  ], null) as events,
  substring(pg_get_triggerdef(pg_trigger.oid, true) from ' WHEN \\((.*?)\\) EXECUTE FUNCTION ') as condition
from pg_catalog.pg_trigger
join pg_catalog.pg_class on pg_class.oid = tgrelid
join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
join pg_catalog.pg_proc on pg_proc.oid = tgfoid
join pg_catalog.pg_namespace as called_in on called_in.oid = pronamespace
where not tgisinternal and tgparentid = 0 and pronargs = 0
  and (called_in.nspname, proname) in (('rowhouse', 'webhook'), ('supabase_functions', 'http_request'))
order by 1, 2, 3 limit $1`

type TriggerRow = {
  readonly schema: string
  readonly table: string
  readonly trigger: string
  /** Texts, each with a zero byte at its end. */
  readonly arguments: string
  readonly is_supabase: boolean
  readonly is_enabled: boolean
  readonly events: readonly string[]
  readonly condition: string | null
}

/** The webhooks in the order of their tables. @param most triggers that are read */
export async function listWebhooks(query: RunQuery, most: number): Promise<readonly Webhook[]> {
  const rows = (await query(triggers, [most])) as unknown as readonly TriggerRow[]
  const found = new Map<string, Webhook>()
  for (const row of rows) {
    const webhook = webhookOf(row)
    const key = JSON.stringify({ ...webhook, events: [] })
    const events = new Set([...(found.get(key)?.events ?? []), ...webhook.events])
    found.set(key, { ...webhook, events: [...events] })
  }
  return [...found.values()]
}

function webhookOf(row: TriggerRow): Webhook {
  const [url = '', ...further] = Buffer.from(row.arguments, 'base64').toString().split('\0')
  const options: JsonObject = row.is_supabase
    ? { method: further[0], headers: objectOf(further[1]), when: row.condition }
    : { ...objectOf(further[0]), method: 'POST' }
  const { name, when, secret, key, headers, method } = options
  const table = `${row.schema}.${row.table}`
  return {
    webhook: `${table}.${textOf(name) ?? row.trigger}`,
    table,
    events: row.events,
    method: textOf(method) ?? '',
    url,
    when: textOf(when),
    secret: textOf(secret),
    key: [key].flat().filter((column) => typeof column === 'string'),
    headers: isJsonObject(headers) ? headers : {},
    isSupabase: row.is_supabase,
    isEnabled: row.is_enabled,
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** An argument that should be an object. One that is written by hand may be anything: the trigger itself fails then. */
function objectOf(text = ''): JsonObject {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}
