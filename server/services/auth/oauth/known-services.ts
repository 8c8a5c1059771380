// Providers of OAuth 2.0 without OpenID Connect: their endpoints and scopes, and the user as their APIs describe it.
//
// https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
// https://docs.discord.com/developers/topics/oauth2
// https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow
// https://docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code
import { createHmac } from 'node:crypto'
import type { ProviderClaims } from './provider-user.ts'

/** Reads an address of the service's API with the user's access token: its JSON. */
export type ReadApi = (address: string) => Promise<unknown>

export type OAuthService = {
  /** As GoTrue stores it in the data of an identity. */
  readonly issuer: string
  /** The issuer that callbacks may name, as the service's metadata do. */
  readonly server: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly authentication: 'post' | 'basic'
  readonly scopes: readonly string[]
  /** The user, as claims of OpenID Connect. An address is verified only if the service says so. */
  readonly claims: (
    read: ReadApi,
    credentials: { readonly secret: string; readonly token: string },
  ) => Promise<ProviderClaims>
}

type Json = Readonly<Record<string, unknown>>

const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}

/** Ids are texts in the database, so that the number of a user and its text are the same user. */
const idOf = (value: unknown): unknown => (Number.isSafeInteger(value) ? String(value) : value)

const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

/** @param url of GitHub Enterprise Server; empty for github.com */
function github(url: string): OAuthService {
  const site = url === '' ? 'https://github.com' : withoutSlash(url)
  const api = url === '' ? 'https://api.github.com' : `${site}/api/v3`
  return {
    issuer: api,
    server: `${site}/login/oauth`,
    authorizationEndpoint: `${site}/login/oauth/authorize`,
    tokenEndpoint: `${site}/login/oauth/access_token`,
    authentication: 'post',
    scopes: ['user:email'],
    claims: async (read) => {
      const user = objectOf(await read(`${api}/user`))
      const list = await read(`${api}/user/emails`)
      const addresses = (Array.isArray(list) ? list : []).map(objectOf)
      const address = addresses.find(({ primary }) => primary === true) ?? addresses.find((it) => it.verified === true)
      return {
        sub: idOf(user.id),
        name: user.name,
        preferred_username: user.login,
        user_name: user.login,
        picture: user.avatar_url,
        email: address?.email,
        email_verified: address?.verified === true,
      }
    },
  }
}

function discord(): OAuthService {
  const api = 'https://discord.com/api'
  return {
    issuer: api,
    server: 'https://discord.com',
    authorizationEndpoint: `${api}/oauth2/authorize`,
    tokenEndpoint: `${api}/oauth2/token`,
    authentication: 'post',
    scopes: ['email', 'identify'],
    claims: async (read) => {
      const user = objectOf(await read(`${api}/users/@me`))
      const { id, avatar, username, discriminator } = user
      const hasAvatar = typeof avatar === 'string' && avatar !== ''
      const image = hasAvatar ? `${avatar}.${avatar.startsWith('a_') ? 'gif' : 'png'}` : ''
      return {
        sub: id,
        name: `${String(username)}#${typeof discriminator === 'string' ? discriminator : '0'}`,
        full_name: username,
        global_name: user.global_name,
        picture: hasAvatar ? `https://cdn.discordapp.com/avatars/${String(id)}/${image}` : undefined,
        email: user.email,
        email_verified: user.verified === true,
      }
    },
  }
}

function facebook(): OAuthService {
  const api = 'https://graph.facebook.com'
  return {
    issuer: `${api}/me?fields=email,first_name,last_name,name,picture`,
    server: 'https://www.facebook.com',
    authorizationEndpoint: 'https://www.facebook.com/dialog/oauth',
    tokenEndpoint: `${api}/oauth/access_token`,
    authentication: 'post',
    scopes: ['email'],
    claims: async (read, { secret, token }) => {
      const proof = createHmac('sha256', secret).update(token).digest('hex')
      const fields = 'email,first_name,last_name,name,picture'
      const user = objectOf(await read(`${api}/me?fields=${fields}&appsecret_proof=${proof}`))
      const { id, email, name, first_name: first, last_name: last } = user
      const full = [first, last].filter((it) => typeof it === 'string' && it !== '').join(' ')
      return {
        sub: id,
        name: full === '' ? name : full,
        nickname: name,
        picture: objectOf(objectOf(user.picture).data).url,
        email,
        // Facebook passes on confirmed addresses only.
        email_verified: typeof email === 'string',
      }
    },
  }
}

function x(): OAuthService {
  const api = 'https://api.x.com'
  const fields = 'id,name,username,confirmed_email,profile_image_url,url,created_at'
  return {
    issuer: api,
    server: 'https://x.com',
    authorizationEndpoint: 'https://x.com/i/oauth2/authorize',
    tokenEndpoint: `${api}/2/oauth2/token`,
    authentication: 'basic',
    scopes: ['users.email', 'tweet.read', 'users.read', 'offline.access'],
    claims: async (read) => {
      const user = objectOf(objectOf(await read(`${api}/2/users/me?user.fields=${fields}`)).data)
      const { id, name, username, confirmed_email: email } = user
      return {
        sub: id,
        name,
        preferred_username: username,
        user_name: username,
        picture: user.profile_image_url,
        website: user.url,
        profile: typeof username === 'string' ? `https://x.com/${username}` : undefined,
        email,
        email_verified: typeof email === 'string',
      }
    },
  }
}

const services: Readonly<Record<string, (url: string) => OAuthService>> = { github, discord, facebook, x }

/**
 * The service of a provider's name; undefined for providers of OpenID Connect.
 *
 * @param url that the settings name; only GitHub has other hosts
 */
export const oauthService = (name: string, url: string): OAuthService | undefined =>
  Object.hasOwn(services, name) ? services[name]?.(url) : undefined
