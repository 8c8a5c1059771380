// What the realtime service reads of the database's policies and log.
import { ChangesUnavailable } from '../services/realtime/changes/row-changes.ts'
import type { LogParts } from '../services/realtime/start-realtime.ts'

const none = { read: false, write: false }

/** Nobody may join private channels, and there are no row changes. */
export const loadLogParts = (): Promise<LogParts> =>
  Promise.resolve({
    policies: { decide: () => Promise.resolve({ broadcast: none, presence: none }) },
    changes: {
      subscribe: () => Promise.reject(new ChangesUnavailable('Row changes are not available')),
      stop: () => Promise.resolve(),
    },
    feed: {
      start: () => Promise.reject(new ChangesUnavailable('Row changes are not available')),
      stop: () => undefined,
    },
    stop: () => Promise.resolve(),
  })
