// Cursor of a page of reports: the creation time and id of its last report.
import { failures } from '../../http/envelope.ts'

export type ReportCursor = {
  /** RFC 3339, with up to six digits after the second, like the database. */
  readonly createdAt: string
  readonly id: string
}

const shape = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{6}Z ([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/

export function cursorText({ createdAt, id }: ReportCursor): string {
  const [, fraction = ''] = /\.(\d+)/.exec(createdAt) ?? []
  const second = new Date(createdAt).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)
  return Buffer.from(`${second}.${fraction.padEnd(6, '0')}Z ${id}`).toString('base64url')
}

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
