// Providers of OAuth 2.0 without OpenID Connect, or whose applications are registered for GoTrue without it: their
// endpoints and scopes.
//
// https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
// https://docs.discord.com/developers/topics/oauth2
// https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow
// https://docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code
// https://docs.gitlab.com/api/oauth2/
// https://developer.atlassian.com/cloud/bitbucket/oauth-2/
// https://developers.figma.com/docs/rest-api/authentication/
// https://fly.io/docs/reference/extensions_api/
// https://developers.kakao.com/docs/latest/en/kakaologin/rest-api
// https://developers.notion.com/docs/authorization
// https://docs.slack.dev/legacy/legacy-authentication/
// https://developers.snap.com/snap-kit/login-kit/overview
// https://developer.spotify.com/documentation/web-api/tutorials/code-flow
// https://dev.twitch.tv/docs/authentication/getting-tokens-oauth/
// https://workos.com/docs/reference/sso
// https://developers.zoom.us/docs/integrations/oauth/
import * as users from './service-users.ts'
import type { UserReader } from './service-users.ts'

export type OAuthService = {
  /** As GoTrue stores it in the data of an identity. */
  readonly issuer: string
  /** The issuer that callbacks may name, as the service's metadata do. */
  readonly server: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly authentication: 'post' | 'basic'
  readonly scopes: readonly string[]
  /** Further parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly user: UserReader
}

/** The host of a provider: that of the settings, or its own. Most of GoTrue's settings `URL` replace all hosts. */
type Host = (own: string) => string

const services: Readonly<Record<string, (host: Host) => OAuthService>> = {
  github: (host) => {
    const site = host('https://github.com')
    const api = site === 'https://github.com' ? 'https://api.github.com' : `${site}/api/v3`
    return {
      issuer: api,
      server: `${site}/login/oauth`,
      authorizationEndpoint: `${site}/login/oauth/authorize`,
      tokenEndpoint: `${site}/login/oauth/access_token`,
      authentication: 'post',
      scopes: ['user:email'],
      user: users.githubUser(api),
    }
  },
  discord: (host) => {
    const site = host('https://discord.com')
    const api = `${site}/api`
    return {
      issuer: api,
      server: site,
      authorizationEndpoint: `${api}/oauth2/authorize`,
      tokenEndpoint: `${api}/oauth2/token`,
      authentication: 'post',
      scopes: ['email', 'identify'],
      user: users.discordUser(api),
    }
  },
  facebook: (host) => {
    const [site, api] = [host('https://www.facebook.com'), host('https://graph.facebook.com')]
    return {
      issuer: users.facebookProfile(api),
      server: site,
      authorizationEndpoint: `${site}/dialog/oauth`,
      tokenEndpoint: `${api}/oauth/access_token`,
      authentication: 'post',
      scopes: ['email'],
      user: users.facebookUser(api),
    }
  },
  x: (host) => {
    const [site, api] = [host('https://x.com'), host('https://api.x.com')]
    return {
      issuer: api,
      server: site,
      authorizationEndpoint: `${site}/i/oauth2/authorize`,
      tokenEndpoint: `${api}/2/oauth2/token`,
      authentication: 'basic',
      scopes: ['users.email', 'tweet.read', 'users.read', 'offline.access'],
      user: users.xUser(api),
    }
  },
  gitlab: (host) => {
    const site = host('https://gitlab.com')
    return {
      issuer: site,
      server: site,
      authorizationEndpoint: `${site}/oauth/authorize`,
      tokenEndpoint: `${site}/oauth/token`,
      authentication: 'post',
      scopes: ['read_user'],
      user: users.gitlabUser(`${site}/api/v4`),
    }
  },
  bitbucket: (host) => {
    const [site, api] = [host('https://bitbucket.org'), `${host('https://api.bitbucket.org')}/2.0`]
    return {
      issuer: api,
      server: site,
      authorizationEndpoint: `${site}/site/oauth2/authorize`,
      tokenEndpoint: `${site}/site/oauth2/access_token`,
      authentication: 'basic',
      scopes: ['account', 'email'],
      user: users.bitbucketUser(api),
    }
  },
  figma: (host) => {
    const [site, api] = [host('https://www.figma.com'), host('https://api.figma.com')]
    return {
      issuer: api,
      server: site,
      authorizationEndpoint: `${site}/oauth`,
      tokenEndpoint: `${api}/v1/oauth/token`,
      authentication: 'basic',
      scopes: ['current_user:read'],
      user: users.figmaUser(api),
    }
  },
  fly: (host) => {
    const site = host('https://api.fly.io')
    return {
      issuer: site,
      server: site,
      authorizationEndpoint: `${site}/oauth/authorize`,
      tokenEndpoint: `${site}/oauth/token`,
      authentication: 'post',
      scopes: ['read'],
      user: users.flyUser(site),
    }
  },
  kakao: (host) => {
    const [site, api] = [host('https://kauth.kakao.com'), host('https://kapi.kakao.com')]
    return {
      issuer: api,
      server: site,
      authorizationEndpoint: `${site}/oauth/authorize`,
      tokenEndpoint: `${site}/oauth/token`,
      authentication: 'post',
      scopes: ['account_email', 'profile_image', 'profile_nickname'],
      user: users.kakaoUser(api),
    }
  },
  linkedin: (host) => {
    const api = host('https://api.linkedin.com')
    return {
      issuer: api,
      server: 'https://www.linkedin.com',
      authorizationEndpoint: `${api}/oauth/v2/authorization`,
      tokenEndpoint: `${api}/oauth/v2/accessToken`,
      authentication: 'post',
      scopes: ['r_emailaddress', 'r_liteprofile'],
      user: users.linkedinUser(api),
    }
  },
  notion: (host) => {
    const api = host('https://api.notion.com')
    return {
      issuer: api,
      server: api,
      authorizationEndpoint: `${api}/v1/oauth/authorize`,
      tokenEndpoint: `${api}/v1/oauth/token`,
      authentication: 'basic',
      scopes: [],
      parameters: { owner: 'user' },
      user: users.notionUser(api),
    }
  },
  slack: (host) => {
    const site = host('https://slack.com')
    return {
      issuer: `${site}/api`,
      server: site,
      authorizationEndpoint: `${site}/oauth/authorize`,
      tokenEndpoint: `${site}/api/oauth.access`,
      authentication: 'basic',
      scopes: ['profile', 'email', 'openid'],
      user: users.slackUser(`${site}/api`),
    }
  },
  snapchat: (host) => {
    const site = host('https://accounts.snapchat.com')
    return {
      issuer: 'https://accounts.snapchat.com/accounts/oauth2/token',
      server: site,
      authorizationEndpoint: `${site}/accounts/oauth2/auth`,
      tokenEndpoint: `${site}/accounts/oauth2/token`,
      authentication: 'basic',
      scopes: ['external_id', 'display_name', 'bitmoji.avatar'].map(
        (name) => `https://auth.snapchat.com/oauth2/api/user.${name}`,
      ),
      user: users.snapchatUser(host('https://kit.snapchat.com')),
    }
  },
  spotify: (host) => {
    const [site, api] = [host('https://accounts.spotify.com'), host('https://api.spotify.com/v1')]
    return {
      issuer: api,
      server: site,
      authorizationEndpoint: `${site}/authorize`,
      tokenEndpoint: `${site}/api/token`,
      authentication: 'basic',
      scopes: ['user-read-email'],
      user: users.spotifyUser(api),
    }
  },
  twitch: (host) => {
    const [site, api] = [host('https://id.twitch.tv'), host('https://api.twitch.tv')]
    return {
      issuer: api,
      server: `${site}/oauth2`,
      authorizationEndpoint: `${site}/oauth2/authorize`,
      tokenEndpoint: `${site}/oauth2/token`,
      authentication: 'post',
      scopes: ['user:read:email'],
      user: users.twitchUser(api),
    }
  },
  workos: (host) => {
    const api = host('https://api.workos.com')
    return {
      issuer: api,
      server: api,
      authorizationEndpoint: `${api}/sso/authorize`,
      tokenEndpoint: `${api}/sso/token`,
      authentication: 'post',
      scopes: [],
      user: users.workosUser,
    }
  },
  zoom: (host) => {
    const [site, api] = [`${host('https://zoom.us')}/oauth`, `${host('https://api.zoom.us')}/v2`]
    return {
      issuer: api,
      server: host('https://zoom.us'),
      authorizationEndpoint: `${site}/authorize`,
      tokenEndpoint: `${site}/token`,
      authentication: 'basic',
      scopes: [],
      user: users.zoomUser(api),
    }
  },
}

/**
 * The service of a provider's name; undefined for providers of OpenID Connect.
 *
 * @param url that the settings name, such as that of a GitLab of one's own; empty for none
 */
export const oauthService = (name: string, url: string): OAuthService | undefined =>
  Object.hasOwn(services, name) ? services[name]?.((own) => (url === '' ? own : url.replace(/\/+$/, ''))) : undefined
