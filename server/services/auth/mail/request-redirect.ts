// Where a link that a request asks for may lead in the end.
import type { Request } from 'express'
import type { AuthContext } from '../auth-context.ts'
import { queryOf } from '../auth-route.ts'
import { RedirectTargets } from '../redirect-target.ts'

type RedirectContext = Pick<AuthContext, 'settings' | 'externalUrl'>

/** The rules of the settings; the site is that of the service if GOTRUE_SITE_URL is not set. */
export function redirectRules({ settings, externalUrl }: RedirectContext, request: Request): RedirectTargets {
  const { authSiteUrl, authUriAllowList } = settings()
  const siteUrl = authSiteUrl ?? new URL(externalUrl(request)).origin
  return new RedirectTargets({ siteUrl, allowList: authUriAllowList })
}

/**
 * The target of a request: `redirect_to` in the query, else the page that sent it, else the site.
 *
 * @param requested a target that comes first, such as a member of the body
 */
export function redirectTo(context: RedirectContext, request: Request, requested?: string | null): string {
  const rules = redirectRules(context, request)
  if (requested !== undefined && requested !== null && rules.isAllowed(requested)) return requested
  return rules.choose(queryOf(request).get('redirect_to') ?? undefined, request.headers.referer)
}
