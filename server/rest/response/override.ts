// Status and headers set by the database: the settings `response.status` and `response.headers`.
// https://docs.postgrest.org/en/stable/references/transactions.html#response-headers
import { errors } from '../errors.ts'
import { framingWarning, isFramingHeader, isHeaderName, isHeaderValue } from './header.ts'
import type { Header, HeaderList, Headers } from './header.ts'
import type { ResultRow } from './result.ts'

/** Whether a number is a status that Node can send: three digits, not that of an interim response. */
export const isStatus = (status: number): boolean => Number.isInteger(status) && status >= 200 && status <= 999

const leadingDigits = /^[0-9]+/

function statusOf(setting: string): number {
  const status = Number(leadingDigits.exec(setting)?.[0])
  if (!isStatus(status)) throw errors.statusSetting()
  return status
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw errors.headersSetting()
  }
}

function headerOf(item: unknown): Header {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) throw errors.headersSetting()
  const [entry, ...others]: [string, unknown][] = Object.entries(item)
  if (entry === undefined || others.length > 0) throw errors.headersSetting()
  const [name, value] = entry
  if (typeof value !== 'string') throw errors.headersSetting()
  if (!isHeaderName(name)) throw errors.headersSetting(`${JSON.stringify(name)} is not a header name.`)
  if (!isHeaderValue(value)) throw errors.headersSetting(`The value of ${name} contains a control character.`)
  return [name, value]
}

function headersOf(setting: string): Headers {
  const list = parsed(setting)
  if (!Array.isArray(list)) throw errors.headersSetting()
  return list.map(headerOf)
}

export type Overridden = {
  readonly status: number
  /** Describes headers that were ignored. */
  readonly warning?: string
}

/**
 * Applies status and headers that the database has set. Headers replace those of the same name in the list. Framing
 * headers (see `isFramingHeader`) are ignored with a warning, not an error, because functions that copy the headers of
 * another server's response work with PostgREST, and the transaction is already committed.
 *
 * @throws ApiError PGRST112 for an invalid status; PGRST111 unless the headers are a list of objects with a single key
 *   and a string value, and valid in HTTP
 */
export function override({ statusSetting, headersSetting }: ResultRow, status: number, list: HeaderList): Overridden {
  const newStatus = statusSetting === null ? status : statusOf(statusSetting)
  if (headersSetting === null) return { status: newStatus }
  const given = headersOf(headersSetting)
  const added = given.filter(([name]) => !isFramingHeader(name))
  list.replace(added)
  if (added.length === given.length) return { status: newStatus }
  const ignored = given.map(([name]) => name).filter(isFramingHeader)
  return { status: newStatus, warning: framingWarning('response.headers', ignored) }
}
