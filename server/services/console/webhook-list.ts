// The webhooks of the database, as the console shows them: without what may be a secret.
import type { RunQuery } from '../../postgres/run-query.ts'
import { listWebhooks } from '../webhooks/webhook-triggers.ts'
import { requestHeaders, urlWithoutSecrets } from './hidden-secrets.ts'
import type { WebhookEntry } from './webhook-protocol.ts'

const mostTriggers = 2000

export async function webhookEntries(query: RunQuery): Promise<readonly WebhookEntry[]> {
  const webhooks = await listWebhooks(query, mostTriggers)
  return webhooks.map(({ webhook, table, events, method, url, when, secret, key, headers, isSupabase, isEnabled }) => ({
    name: webhook,
    table,
    kind: isSupabase ? 'supabase' : 'rowhouse',
    events: events.map((event) => event.toUpperCase()),
    method,
    url: urlWithoutSecrets(url),
    condition: when,
    secret,
    key,
    headers: requestHeaders(headers).map(([name]) => name),
    isEnabled,
  }))
}
