// The webhooks of the database: triggers of `rowhouse webhook add`, and those of Supabase's database webhooks.
import type { RunQuery } from '../../postgres/run-query.ts'
import { requestHeaders, urlWithoutSecrets } from './hidden-secrets.ts'
import type { WebhookEntry } from './webhook-protocol.ts'

/** Bits of `tgtype`. https://www.postgresql.org/docs/current/catalog-pg-trigger.html */
const triggers = `
  select pg_namespace.nspname as schema, relname as table, tgname as name, function_schema.nspname as function_schema,
    array_remove(array[
      case when tgtype & 4 > 0 then 'INSERT' end, case when tgtype & 16 > 0 then 'UPDATE' end,
      case when tgtype & 8 > 0 then 'DELETE' end, case when tgtype & 32 > 0 then 'TRUNCATE' end
    ], null) as events,
    encode(tgargs, 'hex') as arguments, tgenabled <> 'D' as is_enabled,
    substring(pg_get_triggerdef(pg_trigger.oid, true) from ' WHEN \\((.*?)\\) EXECUTE FUNCTION ') as condition
  from pg_catalog.pg_trigger
  join pg_catalog.pg_class on pg_class.oid = tgrelid join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
  join pg_catalog.pg_proc on pg_proc.oid = tgfoid join pg_catalog.pg_namespace as function_schema on function_schema.oid = pronamespace
  where not tgisinternal and tgparentid = 0 and pronargs = 0
    and (function_schema.nspname, proname) in (('rowhouse', 'webhook'), ('supabase_functions', 'http_request'))
  order by pg_namespace.nspname, relname, tgname limit $1`

const mostTriggers = 2000

type TriggerRow = {
  readonly schema: string
  readonly table: string
  readonly name: string
  readonly function_schema: string
  readonly events: readonly string[]
  /** Of `tgargs`, each of which ends with a zero byte. */
  readonly arguments: string
  readonly is_enabled: boolean
  readonly condition: string | null
}

/** The webhooks in the order of their tables. A webhook of several events can consist of several triggers. */
export async function listWebhooks(query: RunQuery): Promise<readonly WebhookEntry[]> {
  const rows = (await query(triggers, [mostTriggers])) as unknown as readonly TriggerRow[]
  const found = new Map<string, WebhookEntry>()
  for (const row of rows) {
    const entry = row.function_schema === 'rowhouse' ? ownWebhook(row) : supabaseWebhook(row)
    const key = JSON.stringify({ ...entry, events: [] })
    const known = found.get(key)
    found.set(key, known ? { ...entry, events: [...new Set([...known.events, ...entry.events])] } : entry)
  }
  return [...found.values()]
}

const argumentsOf = ({ arguments: hex }: TriggerRow): readonly string[] =>
  Buffer.from(hex, 'hex').toString().split('\0').slice(0, -1)

/** Arguments: URL and options. */
function ownWebhook(row: TriggerRow): WebhookEntry {
  const [url = '', given = ''] = argumentsOf(row)
  const { name, when, secret, key, headers } = recordOf(given)
  return {
    name: nameOf(row, textOf(name) ?? row.name),
    table: `${row.schema}.${row.table}`,
    kind: 'rowhouse',
    events: row.events,
    method: 'POST',
    url: urlWithoutSecrets(url),
    condition: textOf(when),
    secret: textOf(secret),
    key: Array.isArray(key) ? key.map(String) : typeof key === 'string' ? [key] : [],
    headers: requestHeaders(headers).map(([header]) => header),
    isEnabled: row.is_enabled,
  }
}

/** Arguments: URL, method, headers, parameters, timeout. */
function supabaseWebhook(row: TriggerRow): WebhookEntry {
  const [url = '', method = '', headers = ''] = argumentsOf(row)
  return {
    name: nameOf(row, row.name),
    table: `${row.schema}.${row.table}`,
    kind: 'supabase',
    events: row.events,
    method,
    url: urlWithoutSecrets(url),
    condition: row.condition,
    secret: null,
    key: [],
    headers: requestHeaders(recordOf(headers)).map(([header]) => header),
    isEnabled: row.is_enabled,
  }
}

const nameOf = ({ schema, table }: TriggerRow, name: string): string => `${schema}.${table}.${name}`

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** An argument that should be an object; the trigger itself fails if it is not. */
function recordOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
