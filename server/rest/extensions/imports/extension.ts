import { lazy } from '../../../common/lazy.ts'
import { longestTimer } from '../../../common/timers.ts'
import type { Extension } from '../../extension.ts'
import type { RestSettings } from '../../settings.ts'
import { ImportBody, openImport } from './import-body.ts'
import type { ImportEvent } from './import-progress.ts'

export type ImportsOptions = {
  readonly settings: Pick<RestSettings, 'restImportSlots' | 'dbPoolAcquisitionTimeout'>
  /** Called while an import runs, and at its end. Must not throw. */
  readonly onImport?: ((event: ImportEvent) => void) | undefined
}

/** Bodies of any length, whose rows are written in one transaction while they arrive. */
export function imports({ settings, onImport }: ImportsOptions): Extension {
  const { restImportSlots: slots, dbPoolAcquisitionTimeout } = settings
  const maxWait = Math.min(dbPoolAcquisitionTimeout * 1000, longestTimer)
  // Loaded by the first import, since most servers never get one.
  const running = lazy(async () => new (await import('./import.ts')).Imports({ slots, maxWait, report: onImport }))
  return {
    openBody: (request, { method, path }, gate, { database, snapshot }) => {
      if (method !== 'POST' || database.importRows === undefined) return undefined
      return openImport(request, path, gate, snapshot.config)?.then((body) =>
        body instanceof ImportBody
          ? {
              isComplete: () => body.isComplete,
              answer: async (http, identity, context) => (await running()).answer(body, http, identity, context),
            }
          : body,
      )
    },
  }
}
