// The SDK's client signs in by OAuth, from a 401 to a tool, with nothing but the URL of `/mcp`.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import t from 'tap'
import { askAuth, claimsOf, signUp } from '../support/auth.ts'
import { connect, startMcpServer } from '../support/mcp.ts'

const site = 'http://app.example'
const server = await startMcpServer(
  t,
  `create table public.notes (id int primary key, owner uuid not null default auth.uid());
   alter table public.notes enable row level security;
   create policy own on public.notes to authenticated using (owner = auth.uid());
   grant select, insert on public.notes to authenticated;`,
  {
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
    GOTRUE_OAUTH_SERVER_ENABLED: 'true',
    GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION: 'true',
    GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH: '/oauth/consent',
    GOTRUE_SITE_URL: site,
  },
)
const { url, database } = server
// The port is chosen only now.
await server.reload({ API_EXTERNAL_URL: `${url}/auth/v1` })
const ask = askAuth(url)

/** A client that stores what it learns in memory, as a program on the machine of its user. */
class Stored implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:3334/callback'
  readonly clientMetadata = {
    client_name: 'Agent',
    redirect_uris: [this.redirectUrl],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }
  information: OAuthClientInformationMixed | undefined
  stored: OAuthTokens | undefined
  verifier = ''
  opened: URL | undefined
  clientInformation = () => this.information
  saveClientInformation = (information: OAuthClientInformationMixed) => void (this.information = information)
  tokens = () => this.stored
  saveTokens = (tokens: OAuthTokens) => void (this.stored = tokens)
  redirectToAuthorization = (target: URL) => void (this.opened = target)
  saveCodeVerifier = (verifier: string) => void (this.verifier = verifier)
  codeVerifier = () => this.verifier
}

/** What a person does in the browser: opens the page of the site, and agrees. @returns where the browser returns to */
async function agree(target: URL, token: string): Promise<URL> {
  const opened = await fetch(target, { redirect: 'manual' })
  const page = new URL(opened.headers.get('location') ?? '')
  t.equal(page.origin + page.pathname, `${site}/oauth/consent`)
  const at = `/oauth/authorizations/${page.searchParams.get('authorization_id') ?? ''}`
  const shown = await ask('GET', at, { token })
  t.match(shown.body, { client: { name: 'Agent' }, redirect_uri: 'http://127.0.0.1:3334/callback' })
  const agreed = await ask('POST', `${at}/consent`, { token, body: { action: 'approve' } })
  return new URL(String(agreed.body.redirect_url))
}

const transportWith = (authProvider: OAuthClientProvider): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider })

t.test('from a 401 to the rows of the user, until the grant is revoked', async (t) => {
  const user = await signUp(ask)
  await database.query('insert into public.notes values (1, $1), (2, gen_random_uuid())', [user.user.id])
  const provider = new Stored()
  const transport = transportWith(provider)
  await t.rejects(new Client({ name: 'agent', version: '1' }).connect(transport), /Unauthorized/)
  const opened = provider.opened ?? new URL('about:blank')
  t.equal(opened.searchParams.get('resource'), `${url}/mcp`)
  t.equal(opened.searchParams.get('code_challenge_method'), 'S256')
  const back = await agree(opened, user.access_token)
  await transport.finishAuth(back.searchParams.get('code') ?? '')

  const client = new Client({ name: 'agent', version: '1' })
  await client.connect(transportWith(provider))
  t.teardown(() => client.close())
  const read = async (): Promise<unknown> => {
    const { structuredContent } = await client.callTool({ name: 'read_rows', arguments: { path: '/notes?select=id' } })
    return (structuredContent as { untrusted_data: unknown }).untrusted_data
  }
  t.strictSame(await read(), [{ id: 1 }], 'the rows of the user alone')
  const claims = claimsOf({ ...user, access_token: provider.stored?.access_token ?? '' })
  t.match(claims, { sub: user.user.id, role: 'authenticated', client_id: /./ })

  // An access token that has expired is renewed by the client itself.
  provider.stored = provider.stored && { ...provider.stored, access_token: 'expired' }
  t.strictSame(await read(), [{ id: 1 }])

  const grants = await ask('DELETE', `/user/oauth/grants?client_id=${provider.information?.client_id ?? ''}`, {
    token: user.access_token,
  })
  t.equal(grants.status, 204)
  await t.rejects(read(), /./, 'the grant is revoked')
  const agent = await connect(t, url, { authorization: `Bearer ${user.access_token}` })
  t.notOk((await agent.call('describe_schema')).isError, 'the session of the user is another one')
})

t.test('a person who denies gives no token', async (t) => {
  const user = await signUp(ask)
  const provider = new Stored()
  const transport = transportWith(provider)
  await t.rejects(new Client({ name: 'agent', version: '1' }).connect(transport), /Unauthorized/)
  const opened = await fetch(provider.opened ?? '', { redirect: 'manual' })
  const id = new URL(opened.headers.get('location') ?? '').searchParams.get('authorization_id') ?? ''
  await ask('GET', `/oauth/authorizations/${id}`, { token: user.access_token })
  const denied = await ask('POST', `/oauth/authorizations/${id}/consent`, {
    token: user.access_token,
    body: { action: 'deny' },
  })
  t.match(denied.body.redirect_url, /error=access_denied/)
  await t.rejects(transport.finishAuth('none'))
  t.equal(provider.stored, undefined)
})
