// Redirects to the page at which a link of a mail, or a sign-in with a provider, ends.
import type { IssuedSession } from './sessions.ts'

export type PageParameters = Readonly<Record<string, string>>

/** Distinguishes these redirects from those of other services. */
export const ownMark: PageParameters = { sb: '' }

/** Errors of RFC 6749 by status. */
const statusErrors: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request'],
  [401, 'unauthorized_client'],
  [403, 'access_denied'],
  [500, 'server_error'],
  [503, 'temporarily_unavailable'],
])

/** The parameter `error` for a status; undefined for one that RFC 6749 has no error for. */
export const errorName = (status: number): string | undefined => statusErrors.get(status)

/**
 * The page with further parameters. Its URL stays as it is, unless it gets a query.
 *
 * @param fragment replaces that of the page, from which it could not be distinguished
 */
export function pageWith(page: string, query: PageParameters, fragment: PageParameters | undefined): string {
  const url = new URL(page)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const [address = ''] = (Object.keys(query).length === 0 ? page : url.href).split('#', 1)
  if (fragment !== undefined) return `${address}#${new URLSearchParams(fragment).toString()}`
  return address + url.hash
}

/** What the page learns besides the session. */
export type PageExtras = {
  /** Tokens of the provider. */
  readonly providerTokens?: PageParameters
  /** Type of the link. */
  readonly type?: string
}

/** The page with a session in the fragment, which reaches no server. */
export const pageWithSession = (
  page: string,
  { accessToken, refreshToken, expiresIn, expiresAt }: IssuedSession,
  { providerTokens = {}, type }: PageExtras,
): string =>
  pageWith(
    page,
    {},
    {
      access_token: accessToken,
      expires_at: String(expiresAt),
      expires_in: String(expiresIn),
      ...providerTokens,
      refresh_token: refreshToken,
      ...ownMark,
      token_type: 'bearer',
      ...(type === undefined ? {} : { type }),
    },
  )

/** The page with a code, which only the client with the code verifier can exchange. */
export const pageWithCode = (page: string, code: string): string => pageWith(page, { code }, undefined)
