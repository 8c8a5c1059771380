// Redirects from `/verify` to the page that the link leads to, with a message or an error.
import type { AuthError } from '../auth-error.ts'
import { errorName, ownMark, pageWith } from '../page-redirect.ts'

/** @param isPkce whether the query has the message, too, for pages that are made by a server */
export const pageWithMessage = (page: string, message: string, isPkce: boolean): string =>
  pageWith(page, isPkce ? { message } : {}, { message, ...ownMark })

export function pageWithError(page: string, { status, code, message }: AuthError, isPkce: boolean): string {
  const name = errorName(status)
  const parameters = {
    ...(name === undefined ? {} : { error: name }),
    error_code: code ?? 'unexpected_failure',
    error_description: message,
  }
  return pageWith(page, isPkce ? parameters : {}, { ...parameters, ...ownMark })
}
