// Pages of lists: `page`, `per_page`, and the headers of the response.
import { authErrors } from '../auth-error.ts'

export type Page = {
  /** From 1. */
  readonly number: number
  readonly size: number
}

const defaultSize = 50
/** Larger pages are made this small; `Link` leads on to the others. */
const maxSize = 10_000
/** So that the number of skipped rows is exact. */
const maxNumber = Number.MAX_SAFE_INTEGER / maxSize

/** @throws AuthError 400 `validation_failed` */
export function pageOf(query: URLSearchParams): Page {
  const number = wholeNumber(query, 'page') ?? 1
  const size = wholeNumber(query, 'per_page') ?? defaultSize
  return { number: Math.min(Math.max(1, number), maxNumber), size: size === 0 ? defaultSize : Math.min(size, maxSize) }
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? ''
  if (text === '') return undefined
  if (!/^\d{1,19}$/.test(text)) {
    throw authErrors.invalid(`Bad Pagination Parameters: ${name} must be a whole number, not ${JSON.stringify(text)}`)
  }
  return Number(text)
}

/** How many rows precede the page. */
export const skippedBy = ({ number, size }: Page): number => (number - 1) * size

/**
 * `X-Total-Count`, and `Link` with the next and the last page.
 *
 * @param path with the query string of the request
 */
export function pageHeaders(path: string, { number, size }: Page, total: number): Readonly<Record<string, string>> {
  const last = Math.ceil(total / size)
  const links = [...(number < last ? [link(path, number + 1, size, 'next')] : []), link(path, last, size, 'last')]
  return { 'X-Total-Count': String(total), Link: links.join(', ') }
}

/** `page` comes first: auth-js reads the number after the first `=`. */
function link(path: string, number: number, size: number, relation: string): string {
  const [at = '', search = ''] = path.split('?', 2)
  const others = new URLSearchParams(search)
  others.delete('page')
  others.delete('per_page')
  const query = new URLSearchParams([['page', String(number)], ['per_page', String(size)], ...others])
  return `<${at}?${query.toString()}>; rel="${relation}"`
}
