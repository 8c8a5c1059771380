// Lints on webhooks, those of rowhouse.webhook() and Supabase's supabase_functions.http_request(): where they send rows.
import type { Relation, Trigger } from '../../catalogue/description.ts'
import { isLoopbackHost } from '../../text/loopback-host.ts'
import { finding, type LintFinding } from './finding.ts'
import type { SchemaView } from './schema-view.ts'

type Webhook = { readonly trigger: Trigger; readonly table: Relation; readonly url: string }

const webhookFunctions = new Set(['rowhouse.webhook', 'supabase_functions.http_request'])

const webhooksOf = (view: SchemaView): readonly Webhook[] =>
  view.catalogue.triggers.flatMap((trigger) => {
    const table = view.relation(trigger.relation)
    const called = view.function(trigger.function)
    if (!table || !called || !webhookFunctions.has(`${called.schema}.${called.name}`)) return []
    const [url = ''] = Buffer.from(trigger.arguments, 'base64').toString().split('\0')
    return [{ trigger, table, url }]
  })

const object = ({ table, trigger }: Webhook): LintFinding['object'] => ({
  type: 'trigger',
  schema: table.schema,
  name: `${table.name}.${trigger.name}`,
})

/** Without user name and password. */
const shown = (url: string): string => url.replace(/\/\/[^/?#]*@/, '//…@')

/** Webhooks that send all columns of tables with row-level security over plain HTTP, but to this machine. */
export function rowsWithoutTls(view: SchemaView): LintFinding[] {
  return webhooksOf(view)
    .filter(({ table, url }) => table.rls && /^http:\/\//i.test(url) && !isOnThisMachine(url))
    .map((webhook) =>
      finding({
        code: 'webhook_without_tls',
        level: 'WARN',
        object: object(webhook),
        key: `webhook_without_tls_${webhook.table.schema}_${webhook.table.name}_${webhook.trigger.name}`,
        reason:
          `The webhook sends all columns of ${webhook.table.schema}.${webhook.table.name}, whose rows policies protect, ` +
          `to ${shown(webhook.url)} without encryption.`,
        advice: 'Let it call an address with https.',
        isOfSplinter: false,
      }),
    )
}

/** In containers of Docker, the machine has a name of its own. */
function isOnThisMachine(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : ''
  return isLoopbackHost(host) || host === 'host.docker.internal'
}

/** Webhooks whose URL has a user name or password, which calls refuse, and which everyone can read in the catalogue. */
export function credentialsInUrls(view: SchemaView): LintFinding[] {
  return webhooksOf(view)
    .filter(({ url }) => /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*@/i.test(url))
    .map((webhook) =>
      finding({
        code: 'webhook_url_credentials',
        level: 'ERROR',
        object: object(webhook),
        key: `webhook_url_credentials_${webhook.table.schema}_${webhook.table.name}_${webhook.trigger.name}`,
        reason: `The URL ${shown(webhook.url)} of the webhook has a user name or password: every statement that calls it fails.`,
        advice: 'Send them in the header Authorization, which the trigger has as an argument.',
        isOfSplinter: false,
      }),
    )
}
