// The query string of a request.
import type { Request } from 'express'

/** The query string. Of a name that is given twice, the first value counts. */
export function queryOf({ url }: Pick<Request, 'url'>): URLSearchParams {
  const start = url.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : url.slice(start + 1))
}
