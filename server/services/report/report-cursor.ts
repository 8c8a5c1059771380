// Cursor of a page of reports: the creation time and id of its last report.
import { failures } from '../../http/envelope.ts'

export type ReportCursor = {
  /** In UTC, with microseconds like the database. */
  readonly createdAt: string
  readonly id: string
}

const shape = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{6}Z ([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/

export const cursorText = ({ createdAt, id }: ReportCursor): string =>
  Buffer.from(`${createdAt} ${id}`).toString('base64url')

/** @throws Failure 400 for a text that is not a cursor */
export function readCursor(text: string): ReportCursor {
  const plain = /^[\w-]{1,200}$/.test(text) ? Buffer.from(text, 'base64url').toString('latin1') : ''
  const [, second, id] = shape.exec(plain) ?? []
  // Rejects dates such as 30 February, too.
  if (second === undefined || id === undefined || !isTime(second)) {
    throw failures.invalid({ cursor: 'must be the nextCursor of a response' })
  }
  return { createdAt: plain.slice(0, plain.indexOf(' ')), id }
}

function isTime(second: string): boolean {
  const time = Date.parse(`${second}Z`)
  return Number.isFinite(time) && second > '0001' && new Date(time).toISOString().startsWith(second)
}
