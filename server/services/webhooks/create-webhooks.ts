// The service that sends outgoing calls. All but this is loaded when there is a call to be sent.
import { lazy } from '../../common/lazy.ts'
import { repeat } from '../../common/repeated-task.ts'
import { isNotMigrated, isUnreachable } from '../../postgres/database-error.ts'
import type { ChannelNotices } from '../channel-notices.ts'
import { nextCallIn, removeOldCalls, storedCalls, type StoredCalls } from './call-database.ts'
import type { StartOptions } from './start-sender.ts'
import { SenderStatistics } from './statistics.ts'

export type WebhooksOptions = StartOptions & {
  /** That there are new calls. */
  readonly notices: ChannelNotices
}

export type WebhooksFigures = {
  /** What this process has done. */
  readonly counts: SenderStatistics
  /** What the database contains; as before if it cannot be read, undefined if it never was. */
  readonly stored: () => Promise<StoredCalls | undefined>
}

export type WebhooksService = {
  readonly figures: WebhooksFigures
  /** Begins no further call. */
  readonly end: () => void
  /** Ends when the calls in flight are recorded. */
  readonly stop: () => Promise<void>
}

/** The channel on which transactions notify that have caused calls. */
export const callsChannel = 'rowhouse_calls'
/** Milliseconds until the first look for calls, and between two looks, in case that a notification was missed. */
const lookPauses = { first: 3000, next: 30_000 }
/** The same of the removal of old calls. */
const removalPauses = { first: 300_000, next: 3_600_000 }

export function createWebhooks(options: WebhooksOptions): WebhooksService {
  const { database, notices, settings, onError } = options
  const counts = new SenderStatistics()
  const sender = lazy(async () => (await import('./start-sender.ts')).startSender(options, counts))
  let isEnding = false
  let hasLooked = false
  const report = (error: unknown): void => {
    if (!isUnreachable(error) && !isNotMigrated(error)) onError(error)
  }
  const wake = async (): Promise<void> => {
    if (!isEnding) (await sender()).wake()
  }
  const stopLooking = repeat({
    run: async () => {
      const next = await nextCallIn(database)
      hasLooked = true
      if (next !== undefined && next < lookPauses.next) await wake()
    },
    pause: (isFirst) => (isFirst ? lookPauses.first : lookPauses.next),
    onError: report,
  })
  const stopRemoving = repeat({
    run: () => removeOldCalls(database, settings().webhooksKeepDelivered, settings().webhooksKeepDead),
    pause: (isFirst) => (isFirst ? removalPauses.first : removalPauses.next),
    onError: report,
  })
  // At the start, the server has other things to do: the first look is soon enough.
  notices.subscribe(() => {
    if (hasLooked) wake().catch(report)
  })
  let stored: StoredCalls | undefined
  return {
    figures: {
      counts,
      stored: async () => {
        try {
          stored = await storedCalls(database)
        } catch (error) {
          report(error)
        }
        return stored
      },
    },
    end: () => {
      isEnding = true
      void sender.settled().then((started) => started?.end())
    },
    stop: async () => {
      isEnding = true
      await Promise.all([stopLooking(), stopRemoving()])
      await (await sender.settled())?.stop()
    },
  }
}
