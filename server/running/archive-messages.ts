// Messages between the process that archives the write-ahead log and the worker that has the admin server.
import { startedStatus, type ArchiveStatus } from '../postgres/backup/archive-status.ts'

type ArchiveMessage = { readonly kind: 'archive'; readonly status: ArchiveStatus }

/** Milliseconds between two messages. */
const interval = 2000

/**
 * Sends the status to the first worker, now and at intervals.
 *
 * @returns stops it
 */
export function sendArchiveStatus(
  workers: { readonly sendToFirst: (message: object) => void },
  status: () => ArchiveStatus,
): () => void {
  const send = (): void => workers.sendToFirst({ kind: 'archive', status: status() } satisfies ArchiveMessage)
  send()
  const timer = setInterval(send, interval)
  timer.unref()
  return () => clearInterval(timer)
}

/** The status that was received last. */
export function receiveArchiveStatus(): () => ArchiveStatus {
  let status = startedStatus(Date.now())
  process.on('message', (message: Partial<ArchiveMessage>) => {
    if (message.kind === 'archive' && message.status) ({ status } = message)
  })
  return () => status
}
