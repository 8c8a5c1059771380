// Scopes of the OAuth server: which parts of an account a client reads from ID tokens and from /oauth/userinfo.

/** GoTrue's. `offline_access` changes nothing: every client whose grants permit it gets a refresh token. */
export const supportedScopes = ['openid', 'profile', 'email', 'phone', 'offline_access'] as const

export type Scope = (typeof supportedScopes)[number]

/** The scopes of a text, each once, in its order. */
export const scopesOf = (text: string): readonly string[] => [
  ...new Set(text.split(' ').filter((scope) => scope !== '')),
]

/** Whether a text has a scope. */
export const hasScope = (text: string, scope: Scope): boolean => scopesOf(text).includes(scope)

/** What is wrong with a text of scopes, separated by spaces; undefined if nothing is. */
export function scopeFault(text: string): string | undefined {
  const scopes = scopesOf(text)
  if (scopes.length === 0) return 'scope parameter cannot be empty'
  const unknown = scopes.find((scope) => !(supportedScopes as readonly string[]).includes(scope))
  return unknown === undefined
    ? undefined
    : `unsupported scope: ${unknown.slice(0, 100)}; supported are ${supportedScopes.join(', ')}`
}
