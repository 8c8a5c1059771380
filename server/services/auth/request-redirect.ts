// Where a link that a request asks for may lead in the end.
import type { IncomingMessage } from 'node:http'
import type { AuthResources } from './auth-resources.ts'
import { queryOf } from './auth-query.ts'
import { isEmpty } from './request-text.ts'
import { RedirectTargets } from './redirect-target.ts'

type RulesContext = Pick<AuthResources, 'settings' | 'externalUrl'>
type RedirectContext = RulesContext & Pick<AuthResources, 'isDevelopment' | 'warn'>

/** The rules of the settings; the site is that of the service if GOTRUE_SITE_URL is not set. */
export function redirectRules({ settings, externalUrl }: RulesContext, request: IncomingMessage): RedirectTargets {
  const { authSiteUrl, authUriAllowList } = settings()
  return new RedirectTargets({
    siteUrl: authSiteUrl ?? new URL(externalUrl(request)).origin,
    allowList: authUriAllowList,
    isDefaultSite: authSiteUrl === null,
  })
}

/**
 * The target of a request: `redirect_to` in the query, else the page that sent it, else the site.
 *
 * In development, a refused target is logged: clients do not learn of it.
 *
 * @param requested a target that comes first, such as a member of the body
 */
export function redirectTo(context: RedirectContext, request: IncomingMessage, requested?: string | null): string {
  const rules = redirectRules(context, request)
  if (requested !== undefined && requested !== null && rules.isAllowed(requested)) return requested
  const wanted = queryOf(request).get('redirect_to') ?? undefined
  const target = rules.choose(wanted, request.headers.referer)
  const isRefused = !isEmpty(wanted) && target !== wanted
  if (isRefused && context.isDevelopment) {
    context.warn(
      `redirect_to=${wanted.slice(0, 200)} is not allowed; the link leads to ${target}. ` +
        'GOTRUE_SITE_URL and GOTRUE_URI_ALLOW_LIST say what is allowed.',
    )
  }
  return target
}
