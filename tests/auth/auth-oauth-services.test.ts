// Sign-in with providers of OAuth 2.0 and with Apple, each as its documentation describes its answers.
import { generateKeyPair, exportJWK, SignJWT } from 'jose'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, codeOf, type Json } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { fragmentOf } from '../support/page-client.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** A server of a provider: responds to a request, or fails as the network does. */
type Server = (request: Request) => Response | Promise<Response>
const servers = new Map<string, Server>()
const realFetch = globalThis.fetch
t.teardown(() => (globalThis.fetch = realFetch))
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init)
  const { hostname, origin, pathname } = new URL(request.url)
  if (hostname === '127.0.0.1') return realFetch(input, init)
  const server = servers.get(origin + pathname)
  return server ? server(request) : Promise.reject(new TypeError('fetch failed'))
}

const names = [
  ...[
    'github',
    'discord',
    'facebook',
    'x',
    'gitlab',
    'bitbucket',
    'figma',
    'fly',
    'kakao',
    'linkedin',
    'notion',
    'slack',
  ],
  ...['snapchat', 'spotify', 'twitch', 'workos', 'zoom', 'apple', 'twitter'],
]
const { url } = await startApplication(t, database.authenticatorUri, {
  ...Object.fromEntries(
    names.flatMap((name) => [
      [`GOTRUE_EXTERNAL_${name.toUpperCase()}_ENABLED`, 'true'],
      [`GOTRUE_EXTERNAL_${name.toUpperCase()}_CLIENT_ID`, 'app'],
      [`GOTRUE_EXTERNAL_${name.toUpperCase()}_SECRET`, 'secret'],
    ]),
  ),
  GOTRUE_SITE_URL: 'http://localhost:3000',
  GOTRUE_MAILER_AUTOCONFIRM: 'false',
})
const ask = askAuth(url)

/** Where a sign-in leads. */
async function authorize(provider: string, more = ''): Promise<URL> {
  const { headers } = await ask('GET', `/authorize?provider=${provider}${more}`)
  return new URL(headers.get('location') ?? '')
}

/** What the page gets after the callback of a flow. */
async function finish(at: URL, more: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Json> {
  const parameters = new URLSearchParams({
    state: at.searchParams.get('state') ?? '',
    code: 'c0de',
    ...more,
  }).toString()
  const { headers } =
    method === 'GET'
      ? await ask('GET', `/callback?${parameters}`)
      : await ask('POST', '/callback', {
          text: parameters,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        })
  const page = new URL(headers.get('location') ?? '')
  return { ...Object.fromEntries(page.searchParams), ...fragmentOf(page) }
}

const stored = async (provider: string): Promise<Json> => {
  const { rows } = await database.query(
    `select users.email, identities.provider_id, identity_data as data, email_confirmed_at is not null as confirmed
     from auth.identities join auth.users on users.id = user_id where provider = $1`,
    [provider],
  )
  return rows[0] ?? {}
}

type Service = {
  readonly at: string
  readonly scope: string
  readonly token: string
  /** What the answer with the token contains beside it; by default its type. */
  readonly answer?: Json
  /** How the client proves its secret. */
  readonly basic?: true
  /** Headers of requests to the API. */
  readonly headers?: Readonly<Record<string, string>>
  /** Further parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Whether the service does not say that the address is verified: a mail confirms it. */
  readonly unverified?: true
  /** Answers of the API by address. */
  readonly api: Readonly<Record<string, unknown>>
  readonly user: Json
}

const githubUser = {
  id: 583231,
  login: 'octocat',
  name: 'Mona',
  avatar_url: 'https://avatars.example/u/1',
  email: null,
}
const services: Readonly<Record<string, Service>> = {
  github: {
    at: 'https://github.com/login/oauth/authorize',
    scope: 'user:email',
    token: 'https://github.com/login/oauth/access_token',
    api: {
      'https://api.github.com/user': githubUser,
      'https://api.github.com/user/emails': [
        { email: 'old@example.org', primary: false, verified: true },
        { email: 'Mona@example.org', primary: true, verified: true },
      ],
    },
    user: {
      email: 'mona@example.org',
      provider_id: '583231',
      data: { user_name: 'octocat', full_name: 'Mona', iss: 'https://api.github.com', email_verified: true },
    },
  },
  discord: {
    at: 'https://discord.com/api/oauth2/authorize',
    scope: 'email identify',
    token: 'https://discord.com/api/oauth2/token',
    api: {
      'https://discord.com/api/users/@me': {
        ...{ id: '80351110224678912', username: 'nelly', discriminator: '0', global_name: 'Nelly', avatar: 'a_83' },
        ...{ verified: true, email: 'nelly@example.org' },
      },
    },
    user: {
      email: 'nelly@example.org',
      provider_id: '80351110224678912',
      data: {
        ...{ name: 'nelly#0', full_name: 'nelly', custom_claims: { global_name: 'Nelly' } },
        avatar_url: 'https://cdn.discordapp.com/avatars/80351110224678912/a_83.gif',
      },
    },
  },
  facebook: {
    at: 'https://www.facebook.com/dialog/oauth',
    scope: 'email',
    token: 'https://graph.facebook.com/oauth/access_token',
    api: {
      'https://graph.facebook.com/me': {
        ...{ id: '10', first_name: 'Fay', last_name: 'Book', name: 'Fay B', email: 'fay@example.org' },
        picture: { data: { url: 'https://images.example/10' } },
      },
    },
    user: { email: 'fay@example.org', provider_id: '10', data: { full_name: 'Fay Book', nickname: 'Fay B' } },
  },
  x: {
    at: 'https://x.com/i/oauth2/authorize',
    scope: 'users.email tweet.read users.read offline.access',
    token: 'https://api.x.com/2/oauth2/token',
    basic: true,
    api: {
      'https://api.x.com/2/users/me': {
        data: { id: '2244994945', name: 'Dev', username: 'dev', confirmed_email: 'dev@example.org' },
      },
    },
    user: { email: 'dev@example.org', provider_id: '2244994945', data: { user_name: 'dev' } },
  },
  gitlab: {
    at: 'https://gitlab.com/oauth/authorize',
    scope: 'read_user',
    token: 'https://gitlab.com/oauth/token',
    api: {
      'https://gitlab.com/api/v4/user': {
        ...{ id: 1, name: 'Git Lab', avatar_url: 'https://images.example/gl', email: 'git@example.org' },
        confirmed_at: '2020-01-01T00:00:00Z',
      },
    },
    user: { email: 'git@example.org', provider_id: '1', data: { iss: 'https://gitlab.com', full_name: 'Git Lab' } },
  },
  bitbucket: {
    at: 'https://bitbucket.org/site/oauth2/authorize',
    scope: 'account email',
    token: 'https://bitbucket.org/site/oauth2/access_token',
    basic: true,
    api: {
      'https://api.bitbucket.org/2.0/user': {
        ...{ uuid: '{1b}', display_name: 'Bit', links: { avatar: { href: 'https://images.example/bb' } } },
      },
      'https://api.bitbucket.org/2.0/user/emails': {
        values: [{ email: 'bit@example.org', is_primary: true, is_confirmed: true }],
      },
    },
    user: {
      email: 'bit@example.org',
      provider_id: '{1b}',
      data: { iss: 'https://api.bitbucket.org/2.0', name: 'Bit', avatar_url: 'https://images.example/bb' },
    },
  },
  figma: {
    at: 'https://www.figma.com/oauth',
    scope: 'current_user:read',
    token: 'https://api.figma.com/v1/oauth/token',
    basic: true,
    unverified: true,
    api: {
      'https://api.figma.com/v1/me': {
        id: '7',
        handle: 'Fig',
        img_url: 'https://images.example/f',
        email: 'fig@example.org',
      },
    },
    user: { provider_id: '7', data: { iss: 'https://api.figma.com', full_name: 'Fig', email: 'fig@example.org' } },
  },
  fly: {
    at: 'https://api.fly.io/oauth/authorize',
    scope: 'read',
    token: 'https://api.fly.io/oauth/token',
    unverified: true,
    api: {
      'https://api.fly.io/oauth/token/info': {
        ...{ resource_owner_id: 'r1', user_id: 'u1', user_name: 'Fly', email: 'fly@example.org', created_at: 1 },
        ...{ scope: ['read'], organizations: [{ id: 'o1', role: 'admin' }], application: { uid: 'a' }, expires_in: 9 },
      },
    },
    user: {
      provider_id: 'u1',
      data: {
        full_name: 'Fly',
        custom_claims: { resource_owner_id: 'r1', organizations: [{ id: 'o1', role: 'admin' }], scope: ['read'] },
      },
    },
  },
  kakao: {
    at: 'https://kauth.kakao.com/oauth/authorize',
    scope: 'account_email profile_image profile_nickname',
    token: 'https://kauth.kakao.com/oauth/token',
    api: {
      'https://kapi.kakao.com/v2/user/me': {
        id: 123456789,
        kakao_account: {
          ...{ profile: { nickname: 'Ka', profile_image_url: 'https://images.example/k' }, email: 'ka@example.org' },
          ...{ is_email_valid: true, is_email_verified: true },
        },
      },
    },
    user: {
      email: 'ka@example.org',
      provider_id: '123456789',
      data: { iss: 'https://kapi.kakao.com', name: 'Ka', user_name: 'Ka', preferred_username: 'Ka' },
    },
  },
  linkedin: {
    at: 'https://api.linkedin.com/oauth/v2/authorization',
    scope: 'r_emailaddress r_liteprofile',
    token: 'https://api.linkedin.com/oauth/v2/accessToken',
    answer: { expires_in: 5184000 },
    api: {
      'https://api.linkedin.com/v2/me': {
        id: 'li',
        firstName: { localized: { en_US: 'Lin' }, preferredLocale: { country: 'US', language: 'en' } },
        lastName: { localized: { en_US: 'Ked' }, preferredLocale: { country: 'US', language: 'en' } },
        profilePicture: {
          'displayImage~': { elements: [{ identifiers: [{ identifier: 'https://images.example/li' }] }] },
        },
      },
      'https://api.linkedin.com/v2/emailAddress': {
        elements: [{ handle: 'urn:li:emailAddress:1', 'handle~': { emailAddress: 'lin@example.org' } }],
      },
    },
    user: {
      email: 'lin@example.org',
      provider_id: 'li',
      data: { full_name: 'Lin Ked', avatar_url: 'https://images.example/li' },
    },
  },
  notion: {
    at: 'https://api.notion.com/v1/oauth/authorize',
    scope: '',
    token: 'https://api.notion.com/v1/oauth/token',
    basic: true,
    unverified: true,
    parameters: { owner: 'user' },
    headers: { 'notion-version': '2021-08-16' },
    api: {
      'https://api.notion.com/v1/users/me': {
        bot: {
          owner: {
            user: {
              ...{ id: 'n1', name: 'No', avatar_url: 'https://images.example/n' },
              person: { email: 'no@example.org' },
            },
          },
        },
      },
    },
    user: { provider_id: 'n1', data: { iss: 'https://api.notion.com', name: 'No' } },
  },
  slack: {
    at: 'https://slack.com/oauth/authorize',
    scope: 'profile email openid',
    token: 'https://slack.com/api/oauth.access',
    basic: true,
    answer: { ok: true, scope: 'identity.basic', team_name: 'Team' },
    api: {
      'https://slack.com/api/openid.connect.userInfo': {
        ...{ ok: true, sub: 'U0R7', 'https://slack.com/user_id': 'U0R7', 'https://slack.com/team_id': 'T0R7' },
        ...{ email: 'sla@example.org', email_verified: true, name: 'Sla', picture: 'https://images.example/s' },
      },
    },
    user: {
      email: 'sla@example.org',
      provider_id: 'U0R7',
      data: { iss: 'https://slack.com/api', custom_claims: { 'https://slack.com/team_id': 'T0R7' } },
    },
  },
  snapchat: {
    at: 'https://accounts.snapchat.com/accounts/oauth2/auth',
    scope: ['external_id', 'display_name', 'bitmoji.avatar']
      .map((name) => `https://auth.snapchat.com/oauth2/api/user.${name}`)
      .join(' '),
    token: 'https://accounts.snapchat.com/accounts/oauth2/token',
    basic: true,
    unverified: true,
    api: {
      'https://kit.snapchat.com/v1/me': {
        data: {
          me: {
            ...{ externalId: 'CAES', displayName: 'Snap', bitmoji: { avatar: 'https://images.example/sn' } },
            email: 'snap@example.org',
          },
        },
        errors: [],
      },
    },
    user: { provider_id: 'CAES', data: { slug: 'Snap', full_name: 'Snap', picture: 'https://images.example/sn' } },
  },
  spotify: {
    at: 'https://accounts.spotify.com/authorize',
    scope: 'user-read-email',
    token: 'https://accounts.spotify.com/api/token',
    basic: true,
    unverified: true,
    api: {
      'https://api.spotify.com/v1/me': {
        ...{ id: 'smedjan', display_name: 'Spo', email: 'spo@example.org' },
        images: [
          { url: 'https://images.example/small', height: 64, width: 64 },
          { url: 'https://images.example/large', height: 300, width: 300 },
        ],
      },
    },
    user: { provider_id: 'smedjan', data: { name: 'Spo', picture: 'https://images.example/large' } },
  },
  twitch: {
    at: 'https://id.twitch.tv/oauth2/authorize',
    scope: 'user:read:email',
    token: 'https://id.twitch.tv/oauth2/token',
    answer: { token_type: 'bearer', scope: ['user:read:email'], expires_in: 14124, refresh_token: 'refresh' },
    headers: { 'client-id': 'app' },
    api: {
      'https://api.twitch.tv/helix/users': {
        data: [
          {
            ...{ id: '141981764', login: 'twi', display_name: 'Twi', type: '', broadcaster_type: 'partner' },
            ...{ description: 'Hello', profile_image_url: 'https://images.example/t', offline_image_url: '' },
            ...{ view_count: 5, email: 'twi@example.org' },
          },
        ],
      },
    },
    user: {
      email: 'twi@example.org',
      provider_id: '141981764',
      data: {
        ...{ name: 'twi', nickname: 'Twi', slug: 'Twi' },
        custom_claims: { broadcaster_type: 'partner', description: 'Hello', view_count: 5 },
      },
    },
  },
  workos: {
    at: 'https://api.workos.com/sso/authorize',
    scope: '',
    token: 'https://api.workos.com/sso/token',
    unverified: true,
    answer: {
      profile: {
        ...{ id: 'prof_1', connection_id: 'conn_1', organization_id: 'org_1', connection_type: 'OktaSAML' },
        ...{ email: 'wo@example.org', first_name: 'Wo', last_name: 'Os' },
      },
    },
    api: {},
    user: {
      provider_id: 'prof_1',
      data: { full_name: 'Wo Os', custom_claims: { connection_id: 'conn_1', organization_id: 'org_1' } },
    },
  },
  zoom: {
    at: 'https://zoom.us/oauth/authorize',
    scope: '',
    token: 'https://zoom.us/oauth/token',
    basic: true,
    api: {
      'https://api.zoom.us/v2/users/me': {
        ...{ id: 'zo', first_name: 'Zo', last_name: 'Om', email: 'zo@example.org', verified: 1 },
        ...{ pic_url: 'https://images.example/z', login_types: [100] },
      },
    },
    user: { email: 'zo@example.org', provider_id: 'zo', data: { iss: 'https://api.zoom.us/v2', full_name: 'Zo Om' } },
  },
}

/** The servers of a service. */
function serve({ token, api, basic, answer = { token_type: 'bearer', scope: '' }, headers: own = {} }: Service): void {
  servers.set(token, async (request) => {
    const form = new URLSearchParams(await request.text())
    const basicProof = `Basic ${Buffer.from('app:secret').toString('base64')}`
    const isProven = basic
      ? request.headers.get('authorization') === basicProof
      : form.get('client_secret') === 'secret'
    const isRight = form.get('code') === 'c0de' && (form.get('code_verifier') ?? '') !== '' && isProven
    // GitHub says what is wrong with status 200.
    if (!isRight) return Response.json({ error: 'bad_verification_code', error_description: 'wrong' })
    return Response.json({ access_token: 'token', ...answer })
  })
  for (const [address, content] of Object.entries(api)) {
    servers.set(address, ({ headers }) =>
      headers.get('authorization') === 'Bearer token' &&
      headers.has('user-agent') &&
      Object.entries(own).every(([name, value]) => headers.get(name) === value)
        ? Response.json(content)
        : Response.json({ message: 'Bad credentials' }, { status: 401 }),
    )
  }
}

for (const [name, service] of Object.entries(services)) {
  t.test(name, async (t) => {
    serve(service)
    const at = await authorize(name)
    t.equal(at.origin + at.pathname, service.at)
    t.match(Object.fromEntries(at.searchParams), {
      ...{ client_id: 'app', response_type: 'code', code_challenge_method: 'S256' },
      redirect_uri: `${url}/auth/v1/callback`,
    })
    t.equal(at.searchParams.get('nonce'), null)
    t.equal(at.searchParams.get('scope') ?? '', service.scope)
    t.match(Object.fromEntries(at.searchParams), service.parameters ?? {})
    if (service.unverified) {
      t.match(await finish(at), { error_code: 'provider_email_needs_verification' })
      t.match(await stored(name), { ...service.user, confirmed: false })
      return
    }
    t.match(await finish(at), { access_token: String, provider_token: 'token' })
    t.match(await stored(name), { ...service.user, confirmed: true })
    t.match(await finish(await authorize(name, '&scopes=a,b')), { access_token: String }, 'again')
  })
}

t.test('workos gets the provider that the client names', async (t) => {
  const at = await authorize('workos', '&workos_provider=GoogleOAuth')
  t.equal(at.searchParams.get('provider'), 'GoogleOAuth')
  t.equal(at.searchParams.get('workos_provider'), null)
})

t.test('what is refused', async (t) => {
  const [user, emails] = ['https://api.github.com/user', 'https://api.github.com/user/emails'] as const
  const { github } = services
  if (!github) throw new Error('no service')
  const api = (changes: Readonly<Record<string, unknown>>): void =>
    serve({ ...github, api: { ...github.api, ...changes } })
  const failed = { error: 'server_error', error_code: 'unexpected_failure' }

  t.match(await finish(await authorize('github'), { code: 'wrong' }), failed, 'a code that is not valid')
  const stale = await authorize('github')
  t.match(await finish(stale), { access_token: String })
  t.match(await finish(stale), { error: String }, 'a state that was used')
  t.match(await finish(await authorize('github'), { iss: 'https://evil.example' }), failed, 'another issuer')

  const rows: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
    ['no id', { [user]: { login: 'a' } }],
    ['an id with lost digits', { [user]: { ...githubUser, id: 2 ** 60 } }],
    ['no address', { [user]: { ...githubUser, id: 7 }, [emails]: [] }],
    ['an address that is none', { [user]: { ...githubUser, id: 7 }, [emails]: [{ email: 'x', primary: true }] }],
    ['a list that is none', { [user]: { ...githubUser, id: 7 }, [emails]: { message: 'gone' } }],
    ['an answer that is no object', { [user]: 'hello' }],
    ['an answer that is too long', { [user]: { ...githubUser, id: 7, bio: 'x'.repeat(2 ** 20) } }],
  ]
  for (const [label, changes] of rows) {
    api(changes)
    t.match(await finish(await authorize('github')), failed, label)
  }
  servers.set(user, () => Response.redirect('https://evil.example/', 302))
  t.match(await finish(await authorize('github')), failed, 'a redirect')

  // Mona's address, which another account of GitHub claims without having proven it.
  api({ [user]: { ...githubUser, id: 8 }, [emails]: [{ email: 'mona@example.org', primary: true, verified: false }] })
  t.match(await finish(await authorize('github')), { error_code: 'provider_email_needs_verification' })
  const { rows: owners } = await database.query(
    `select provider_id, users.email, email_confirmed_at is not null as confirmed
     from auth.identities join auth.users on users.id = user_id where provider = 'github' order by provider_id`,
  )
  t.strictSame(owners, [
    { provider_id: '583231', email: 'mona@example.org', confirmed: true },
    { provider_id: '8', email: null, confirmed: false },
  ])

  const idToken = { provider: 'github', id_token: 'e30.e30.e30' }
  t.equal((await ask('POST', '/token?grant_type=id_token', { body: idToken })).status, 400, 'no ID tokens')
})

t.test('Apple answers by a form, and gitlab needs no URL', async (t) => {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }
  servers.set('https://appleid.apple.com/auth/keys', () => Response.json({ keys: [jwk] }))
  const at = await authorize('apple')
  t.equal(at.origin + at.pathname, 'https://appleid.apple.com/auth/authorize')
  t.match(Object.fromEntries(at.searchParams), { response_mode: 'form_post', scope: 'openid email name' })
  servers.set('https://appleid.apple.com/auth/token', async (request) => {
    const form = new URLSearchParams(await request.text())
    if (form.get('client_secret') !== 'secret') return Response.json({ error: 'invalid_client' }, { status: 400 })
    const claims = {
      nonce: at.searchParams.get('nonce'),
      email: 'tim@privaterelay.appleid.com',
      email_verified: 'true',
    }
    const id_token = await new SignJWT({ ...claims, is_private_email: 'true' })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .setIssuer('https://appleid.apple.com')
      .setAudience('app')
      .setSubject('001.tim')
      .setIssuedAt()
      .setExpirationTime('10m')
      .sign(privateKey)
    return Response.json({ access_token: 'a', token_type: 'Bearer', expires_in: 3600, refresh_token: 'r', id_token })
  })
  t.match(await finish(at, {}, 'POST'), { access_token: String, provider_refresh_token: 'r' })
  t.match(await stored('apple'), { email: 'tim@privaterelay.appleid.com', provider_id: '001.tim', confirmed: true })

  const gitlab = await authorize('gitlab')
  t.equal(gitlab.origin + gitlab.pathname, 'https://gitlab.com/oauth/authorize')
  t.equal(codeOf(await ask('GET', '/authorize?provider=azure')), 'validation_failed', 'a provider that is not set')
})
