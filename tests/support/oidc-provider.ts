// A real OpenID Connect provider, and a browser without windows that signs in there.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Configuration } from 'oidc-provider'
import type { Test } from 'tap'

/** Claims of the accounts at a provider, by their ids. */
export type ProviderAccounts = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export const client = { id: 'app', secret: 'a secret: with/odd+characters' }

/**
 * Starts a provider. Its client is known to it only after `serve` is called with the redirect URI. The parameter
 * `login_hint` says who signs in; `nobody` refuses.
 */
export async function startProvider(t: Pick<Test, 'teardown'>, accounts: ProviderAccounts) {
  let handle: RequestListener = (_request, response) => response.writeHead(503).end()
  const server = createServer((request, response) => handle(request, response))
  // On a busy machine an idle connection could be closed just when `fetch` sends a request on it.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    serve: (redirectUri: string) => {
      const provider = new Provider(issuer, configuration(redirectUri, accounts))
      // Otherwise it logs that it is not for production.
      provider.proxy = true
      const callback = provider.callback()
      handle = (request, response) => {
        if (request.url?.startsWith('/interaction/') !== true) {
          void callback(request, response)
          return
        }
        void provider.interactionDetails(request, response).then(({ params }) => {
          const accountId = String(params.login_hint)
          const result =
            accountId === 'nobody'
              ? { error: 'access_denied', error_description: 'The user said no' }
              : { login: { accountId } }
          return provider.interactionFinished(request, response, result)
        })
      }
    },
  }
}

const configuration = (redirectUri: string, accounts: ProviderAccounts): Configuration => ({
  clients: [
    {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
  ],
  pkce: { required: () => true },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'picture'] },
  features: { devInteractions: { enabled: false } },
  cookies: { keys: ['cookie key'] },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  issueRefreshToken: () => Promise.resolve(true),
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => Promise.resolve({ sub: id, ...accounts[id] }),
  }),
  // Every user has consented to everything.
  loadExistingGrant: async ({ oidc }) => {
    const grant = new oidc.provider.Grant({
      clientId: oidc.client?.clientId ?? '',
      accountId: oidc.session?.accountId ?? '',
    })
    grant.addOIDCScope('openid email profile')
    await grant.save()
    return grant
  },
})

/** Follows redirects, with the cookies of each origin, until one leads to `page`. Returns its URL. */
export async function browse(start: string, page: string): Promise<URL> {
  const cookies = new Map<string, Map<string, string>>()
  let url = new URL(start)
  for (let step = 0; step < 20; step++) {
    const jar = cookies.get(url.origin) ?? new Map<string, string>()
    cookies.set(url.origin, jar)
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { Cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      jar.set(name, value)
    }
    const location = response.headers.get('location')
    const text = await response.text()
    if (location === null) throw new Error(`no redirect from ${url.href}: ${response.status} ${text}`)
    url = new URL(location, url)
    if (url.href.startsWith(page)) return url
  }
  throw new Error(`no redirect to ${page}`)
}
