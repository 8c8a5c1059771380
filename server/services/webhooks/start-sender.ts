// Puts the sender together. It is loaded when there is the first call to be sent.
import type { Database } from '../../postgres/database.ts'
import { Lease } from '../../postgres/lease.ts'
import { allowedHosts, type AllowedHosts } from '../outgoing/allowed-hosts.ts'
import { OutgoingConnections } from '../outgoing/connections.ts'
import { attemptCall } from './attempt.ts'
import { DeadCallLog } from './dead-call-log.ts'
import { CallSender } from './sender.ts'
import type { WebhooksSettings } from './settings.ts'
import type { SenderStatistics } from './statistics.ts'

export type StartOptions = {
  readonly database: Pick<Database, 'ask'>
  /** The current settings. */
  readonly settings: () => WebhooksSettings
  readonly onError: (error: unknown) => void
  readonly warn: (message: string) => void
}

export type StartedSender = Pick<CallSender, 'wake' | 'end' | 'stop'>

/** The setting that the reasons of refused calls name. */
const allowingSetting = 'WEBHOOKS_ALLOWED_HOSTS'

export function startSender(
  { database, settings, onError, warn }: StartOptions,
  statistics: SenderStatistics,
): StartedSender {
  const connections = new OutgoingConnections({
    allowed: currentlyAllowed(() => settings().webhooksAllowedHosts),
    setting: allowingSetting,
  })
  const deadCalls = new DeadCallLog(warn)
  const sender = new CallSender({
    database,
    lease: new Lease({ database, name: 'calls' }),
    settings,
    attempt: (call, signal) => attemptCall(call, { connections, settings: settings(), signal }),
    statistics,
    onDead: (call, reason) => deadCalls.add(call, reason),
    onError,
  })
  return {
    wake: () => sender.wake(),
    end: () => sender.end(),
    stop: async () => {
      await sender.stop()
      connections.close()
      deadCalls.stop()
    },
  }
}

/** The hosts of a list that may be reloaded. */
function currentlyAllowed(list: () => readonly string[]): () => AllowedHosts {
  let read = list()
  let hosts = allowedHosts(read)
  return () => {
    const current = list()
    if (current !== read) {
      hosts = allowedHosts(current)
      read = current
    }
    return hosts
  }
}
