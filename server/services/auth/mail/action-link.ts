// The links of mails.

export type ActionLink = {
  /** Public URL of `/auth/v1`, without a slash at the end. */
  readonly externalUrl: string
  /** GOTRUE_MAILER_URLPATHS_*: a path, or the URL of a page of one's own. Null for the default. */
  readonly urlPath: string | null
  readonly token: string
  /** `signup`, `recovery` and the like. */
  readonly type: string
  /** Where the link leads in the end. */
  readonly redirectTo: string
}

/** Characters that need no encoding in the query of a URL. Clients compare links with those of GoTrue. */
const plain = /^[A-Za-z0-9:/?.\-_~@!$'()*,;]*$/

const encoded = (url: string): string => (plain.test(url) ? url : encodeURIComponent(url))

/** `<externalUrl>/verify?token=…&type=…&redirect_to=…` */
export function actionLink({ externalUrl, urlPath, token, type, redirectTo }: ActionLink): string {
  const query = `token=${encodeURIComponent(token)}&type=${encodeURIComponent(type)}&redirect_to=${encoded(redirectTo)}`
  const page = pageOf(externalUrl, urlPath ?? '/verify')
  return `${page}${page.includes('?') ? '&' : '?'}${query}`
}

/** Paths may be relative to the service, or contain its own path. */
function pageOf(externalUrl: string, urlPath: string): string {
  if (/^[a-z][a-z0-9+.-]*:/i.test(urlPath)) return urlPath
  const path = urlPath.startsWith('/') ? urlPath : `/${urlPath}`
  const { origin, pathname } = new URL(externalUrl)
  return pathname !== '/' && path.startsWith(`${pathname}/`) ? origin + path : externalUrl + path
}
