// Answers changed by the database: the settings `response.status` and `response.headers`.
// https://docs.postgrest.org/en/v14/references/transactions.html#response-headers
import { errors } from '../errors.ts'
import { framingWarning, isFramingHeader, isHeaderName, isHeaderValue } from './header.ts'
import type { Header, HeaderList, Headers } from './header.ts'
import type { ResultRow } from './result.ts'

/** Whether Node can send it as a final status: three digits, no interim response. */
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
  /** What was ignored, in words. */
  readonly warning?: string
}

/**
 * The status that the database set instead. Its headers replace those of the same name in the list; framing headers (see
 * `isFramingHeader`) are left out, with a warning: a function that copies the headers of another server's answer has
 * worked before, and the transaction has been committed by now.
 *
 * @throws ApiError PGRST112 for an invalid status; PGRST111 for headers that are no list of single-key objects of
 * strings, or that HTTP does not allow
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
