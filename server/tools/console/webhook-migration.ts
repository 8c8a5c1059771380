// The migration of a webhook: what `rowhouse webhook add` prints.
import type { Client } from '../../postgres/connection/client.ts'
import type { NewWebhook, WebhookMigration } from '../../services/console/webhook-protocol.ts'
import { checkAgainst, findTable, requireCalls } from '../webhooks/webhook-catalogue.ts'
import { webhookMigration, type WebhookWish } from '../webhooks/webhook-sql.ts'

/**
 * @param client connected as the role that owns the schemas
 * @param runsSql whether the person may run SQL as this role: the condition is tried out then, which is a statement
 * @throws WebhookError
 */
export async function webhookMigrationFor(
  client: Client,
  { table: given, timeout: timeoutMs, name, ...wanted }: NewWebhook,
  { runsSql }: { readonly runsSql: boolean },
): Promise<WebhookMigration> {
  const query = (text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }> =>
    client.query(text, values)
  await requireCalls(query)
  const table = await findTable(query, given)
  const wish: WebhookWish = { ...wanted, name: name ?? `${table.name}_webhook`, timeoutMs }
  const sql = webhookMigration(table, wish)
  await checkAgainst(query, table, runsSql ? wish : { ...wish, when: undefined })
  return { name: `webhook ${table.name} ${wish.events.join(' ')}`, sql }
}
