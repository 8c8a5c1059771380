// The settings of outgoing calls: webhooks, and calls of SQL.
import type { WebhooksSettings } from '../services/webhooks/settings.ts'
import { supabaseSetting as webhooks } from './service-setting.ts'
import type { Setting } from './setting.ts'
import * as types from './setting-types.ts'

const day = 24 * 60 * 60

export const webhooksSettings: { readonly [K in keyof WebhooksSettings]: Setting<WebhooksSettings[K]> } = {
  webhooksAllowedHosts: webhooks('WEBHOOKS_ALLOWED_HOSTS', types.hostsAndNetworks, [], {
    description:
      'Host names, addresses and networks that calls may reach although their addresses are private, loopback or link-local. All addresses of a listed name are allowed.',
    example: '"localhost,10.1.0.0/16"',
  }),
  webhooksMaxAttempts: webhooks('WEBHOOKS_MAX_ATTEMPTS', types.integer({ min: 1, max: 1000 }), 20, {
    description: 'Attempts after which a call is put aside as dead. With the default of pauses, 20 take two days.',
  }),
  webhooksMaxPause: webhooks('WEBHOOKS_MAX_PAUSE', types.integer({ min: 1, max: 7 * day }), 4 * 60 * 60, {
    description:
      'Maximum number of seconds between two attempts. The first pause is 5 seconds, each further one three times as long. Limits `Retry-After`, too.',
  }),
  webhooksMaxTimeout: webhooks('WEBHOOKS_MAX_TIMEOUT', types.integer({ min: 1, max: 600_000 }), 60_000, {
    description: 'Milliseconds that an attempt may take, also if the webhook allows more.',
  }),
  webhooksConcurrency: webhooks('WEBHOOKS_CONCURRENCY', types.integer({ min: 1, max: 1000 }), 64, {
    description: 'Maximum number of calls that are sent at the same time.',
  }),
  webhooksHostConcurrency: webhooks('WEBHOOKS_HOST_CONCURRENCY', types.integer({ min: 1, max: 1000 }), 32, {
    description: 'Maximum number of calls that are sent to the same host at the same time.',
  }),
  webhooksMaxResponseBytes: webhooks('WEBHOOKS_MAX_RESPONSE_BYTES', types.size, 64 * 1024, {
    description:
      'Bytes that are kept of the response to a call of `net.http_*`. Of responses to webhooks, 4 KiB are kept.',
  }),
  webhooksKeepDelivered: webhooks('WEBHOOKS_KEEP_DELIVERED', types.integer({ min: 0 }), 3 * day, {
    description: 'Seconds for which delivered calls are kept.',
  }),
  webhooksKeepDead: webhooks('WEBHOOKS_KEEP_DEAD', types.integer({ min: 0 }), 30 * day, {
    description: 'Seconds for which calls are kept that could not be delivered.',
  }),
}
