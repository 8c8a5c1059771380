// Answers changed by the database: the settings `response.status` and `response.headers`.
// https://docs.postgrest.org/en/v14/references/transactions.html#response-headers
import { errors } from '../errors.ts'
import { hasHeader, isHeaderName } from './header.ts'
import type { Header, Headers } from './header.ts'
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
  if (typeof value !== 'string' || !isHeaderName(name)) throw errors.headersSetting()
  return [name, value]
}

function headersOf(setting: string): Headers {
  const list = parsed(setting)
  if (!Array.isArray(list)) throw errors.headersSetting()
  return list.map(headerOf)
}

/**
 * Status and headers with what the database set instead. Its headers replace those of the same name.
 * Errors: PGRST112 for a status that is none, PGRST111 for headers that are no list of single-key objects of strings.
 */
export function overridden(
  { statusSetting, headersSetting }: ResultRow,
  status: number,
  headers: Headers,
): { readonly status: number; readonly headers: Headers } {
  const newStatus = statusSetting === null ? status : statusOf(statusSetting)
  if (headersSetting === null) return { status: newStatus, headers }
  const added = headersOf(headersSetting)
  return { status: newStatus, headers: [...headers.filter(([name]) => !hasHeader(added, name)), ...added] }
}
