// The query string of a request.
import type { IncomingMessage } from 'node:http'
import { searchOf } from '../../http/query-string.ts'
import { authErrors } from './auth-error.ts'

/**
 * The query string. Of a name that is given twice, the first value counts.
 *
 * @throws AuthError 400 for the character NUL, which PostgreSQL cannot store
 */
export function queryOf({ url = '' }: Pick<IncomingMessage, 'url'>): URLSearchParams {
  const query = searchOf(url)
  for (const [name, text] of query) {
    if (text.includes('\0')) throw authErrors.invalid(`${name} must not contain the character NUL`)
  }
  return query
}
