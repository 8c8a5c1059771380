// Redirects from `/verify` to the page that the link leads to.
import type { AuthError } from '../auth-error.ts'
import type { IssuedSession } from '../sessions.ts'

/** Distinguishes these redirects from those of other services. */
const own = { sb: '' }

/** Errors of RFC 6749 by status. */
const statusErrors: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request'],
  [401, 'unauthorized_client'],
  [403, 'access_denied'],
  [500, 'server_error'],
  [503, 'temporarily_unavailable'],
])

type Parameters = Readonly<Record<string, string>>

/** @param fragment replaces that of the page, which could not be told from it */
function pageWith(page: string, query: Parameters, fragment: Parameters | undefined): string {
  const url = new URL(page)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const [address = ''] = (Object.keys(query).length === 0 ? page : url.href).split('#', 1)
  if (fragment !== undefined) return `${address}#${new URLSearchParams(fragment).toString()}`
  return address + url.hash
}

/** The page with a session in the fragment, which reaches no server. */
export const pageWithSession = (
  page: string,
  { accessToken, refreshToken, expiresIn, expiresAt }: IssuedSession,
  type: string,
): string =>
  pageWith(
    page,
    {},
    {
      access_token: accessToken,
      expires_at: String(expiresAt),
      expires_in: String(expiresIn),
      refresh_token: refreshToken,
      ...own,
      token_type: 'bearer',
      type,
    },
  )

/** The page with a code, which only the client with the code verifier can exchange. */
export const pageWithCode = (page: string, code: string): string => pageWith(page, { code }, undefined)

/** @param isPkce whether the query has the message, too, for pages that are made by a server */
export const pageWithMessage = (page: string, message: string, isPkce: boolean): string =>
  pageWith(page, isPkce ? { message } : {}, { message, ...own })

export function pageWithError(page: string, { status, code, message }: AuthError, isPkce: boolean): string {
  const name = statusErrors.get(status)
  const parameters = {
    ...(name === undefined ? {} : { error: name }),
    error_code: code ?? 'unexpected_failure',
    error_description: message,
  }
  return pageWith(page, isPkce ? parameters : {}, { ...parameters, ...own })
}
