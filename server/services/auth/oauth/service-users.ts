// The users of services of OAuth 2.0 as their APIs describe them, read as claims of OpenID Connect with GoTrue's names.
//
// An address is verified only if the documentation of the service says so of what it returns: another account with that
// address would be signed in to otherwise.
import { createHmac } from 'node:crypto'
import type { ProviderClaims } from './provider-user.ts'

export type Json = Readonly<Record<string, unknown>>

/** What a service gave for a code, and how to ask its API. */
export type ServiceAccess = {
  /** Reads an address of the API with the access token: its JSON. */
  readonly read: (address: string, headers?: Readonly<Record<string, string>>) => Promise<unknown>
  readonly token: string
  /** All of the answer that contained the token. */
  readonly answer: Json
  readonly clientId: string
  readonly secret: string
}

/** Reads the user of an access token. */
export type UserReader = (access: ServiceAccess) => Promise<ProviderClaims>

const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(objectOf) : [])

/** Ids are texts in the database, so that the number of a user and its text are the same user. */
const idOf = (value: unknown): unknown => (Number.isSafeInteger(value) ? String(value) : value)

const fullNameOf = (...names: readonly unknown[]): string =>
  names.filter((it) => typeof it === 'string' && it !== '').join(' ')

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** The address that a list calls primary, otherwise one that is verified. */
const chosenAddress = (list: readonly Json[], primary: string, verified: string): Json | undefined =>
  list.find((it) => it[primary] === true) ?? list.find((it) => it[verified] === true)

export const githubUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const user = objectOf(await read(`${api}/user`))
    const address = chosenAddress(listOf(await read(`${api}/user/emails`)), 'primary', 'verified')
    return {
      sub: idOf(user.id),
      name: user.name,
      preferred_username: user.login,
      user_name: user.login,
      picture: user.avatar_url,
      email: address?.email,
      email_verified: address?.verified === true,
    }
  }

export const discordUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const user = objectOf(await read(`${api}/users/@me`))
    const { id, avatar, username, discriminator } = user
    const hasAvatar = typeof avatar === 'string' && avatar !== ''
    const image = hasAvatar ? `${avatar}.${avatar.startsWith('a_') ? 'gif' : 'png'}` : ''
    return {
      sub: id,
      name: `${String(username)}#${typeof discriminator === 'string' ? discriminator : '0'}`,
      full_name: username,
      picture: hasAvatar ? `https://cdn.discordapp.com/avatars/${String(id)}/${image}` : undefined,
      email: user.email,
      email_verified: user.verified === true,
      custom_claims: { global_name: user.global_name },
    }
  }

const facebookFields = 'email,first_name,last_name,name,picture'
/** As GoTrue names the issuer of Facebook. */
export const facebookProfile = (api: string): string => `${api}/me?fields=${facebookFields}`

export const facebookUser =
  (api: string): UserReader =>
  async ({ read, secret, token }) => {
    const proof = createHmac('sha256', secret).update(token).digest('hex')
    const user = objectOf(await read(`${facebookProfile(api)}&appsecret_proof=${proof}`))
    const { id, email, name, first_name: first, last_name: last } = user
    const full = fullNameOf(first, last)
    return {
      sub: id,
      name: full === '' ? name : full,
      nickname: name,
      slug: name,
      picture: objectOf(objectOf(user.picture).data).url,
      email,
      // Facebook passes on confirmed addresses only.
      email_verified: isText(email),
    }
  }

const xFields = 'id,name,username,confirmed_email,profile_image_url,url,created_at'

export const xUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const user = objectOf(objectOf(await read(`${api}/2/users/me?user.fields=${xFields}`)).data)
    const { id, name, username, confirmed_email: email, created_at } = user
    return {
      sub: id,
      name,
      preferred_username: username,
      user_name: username,
      picture: user.profile_image_url,
      website: user.url,
      profile: typeof username === 'string' ? `https://x.com/${username}` : undefined,
      email,
      email_verified: isText(email),
      custom_claims: { created_at },
    }
  }

export const gitlabUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const user = objectOf(await read(`${api}/user`))
    return {
      sub: idOf(user.id),
      name: user.name,
      picture: user.avatar_url,
      email: user.email,
      email_verified: isText(user.confirmed_at),
    }
  }

export const bitbucketUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const user = objectOf(await read(`${api}/user`))
    const list = listOf(objectOf(await read(`${api}/user/emails`)).values)
    const address = chosenAddress(list, 'is_primary', 'is_confirmed')
    return {
      sub: user.uuid,
      name: user.display_name,
      picture: objectOf(objectOf(user.links).avatar ?? user.avatar).href,
      email: address?.email,
      email_verified: address?.is_confirmed === true,
    }
  }

export const figmaUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const { id, handle, img_url: picture, email } = objectOf(await read(`${api}/v1/me`))
    return { sub: id, name: handle, picture, email }
  }

export const flyUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const user = objectOf(await read(`${api}/oauth/token/info`))
    const { resource_owner_id, organizations, application, scope, created_at } = user
    return {
      sub: idOf(user.user_id),
      full_name: user.user_name,
      email: user.email,
      custom_claims: { resource_owner_id, organizations, application, scope, created_at },
    }
  }

export const kakaoUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const { id, kakao_account: account } = objectOf(await read(`${api}/v2/user/me`))
    const { profile, email, is_email_valid: isValid, is_email_verified: isVerified } = objectOf(account)
    const { nickname: name, profile_image_url: picture } = objectOf(profile)
    return {
      sub: idOf(id),
      name,
      preferred_username: name,
      user_name: name,
      picture,
      email,
      email_verified: isValid === true && isVerified === true,
    }
  }

/** A name in the language that its owner prefers, as the first API of LinkedIn has it. */
function linkedinName(value: unknown): unknown {
  const { localized, preferredLocale } = objectOf(value)
  const { language, country } = objectOf(preferredLocale)
  return objectOf(localized)[`${String(language)}_${String(country)}`]
}

export const linkedinUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const projection = '(id,firstName,lastName,profilePicture(displayImage~:playableStreams))'
    const user = objectOf(await read(`${api}/v2/me?projection=${projection}`))
    const list = await read(`${api}/v2/emailAddress?q=members&projection=(elements*(handle~))`)
    const email = objectOf(listOf(objectOf(list).elements)[0]?.['handle~']).emailAddress
    const images = listOf(objectOf(objectOf(user.profilePicture)['displayImage~']).elements)
    return {
      sub: user.id,
      name: fullNameOf(linkedinName(user.firstName), linkedinName(user.lastName)),
      picture: listOf(images[0]?.identifiers)[0]?.identifier,
      email,
      // The primary address, which LinkedIn has its members confirm.
      email_verified: isText(email),
    }
  }

export const notionUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const me = objectOf(await read(`${api}/v1/users/me`, { 'Notion-Version': '2021-08-16' }))
    const user = objectOf(objectOf(objectOf(me.bot).owner).user)
    return { sub: user.id, name: user.name, picture: user.avatar_url, email: objectOf(user.person).email }
  }

/** Claims of Slack whose names are URLs. */
const slackClaim = 'https://slack.com/'

export const slackUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const user = objectOf(await read(`${api}/openid.connect.userInfo`))
    return {
      sub: user[`${slackClaim}user_id`],
      name: user.name,
      picture: user.picture,
      email: user.email,
      email_verified: user.email_verified === true,
      custom_claims: { [`${slackClaim}team_id`]: user[`${slackClaim}team_id`] },
    }
  }

export const snapchatUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const query = new URLSearchParams({ query: '{me { externalId displayName bitmoji { avatar id } email } }' })
    const { me } = objectOf(objectOf(await read(`${api}/v1/me?${query.toString()}`)).data)
    const { externalId, displayName, bitmoji, email } = objectOf(me)
    return { sub: externalId, name: displayName, slug: displayName, picture: objectOf(bitmoji).avatar, email }
  }

export const spotifyUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const { id, display_name: name, images, email } = objectOf(await read(`${api}/me`))
    const area = ({ width, height }: Json): number => Number(width ?? 0) * Number(height ?? 0)
    const [largest] = [...listOf(images)].sort((a, b) => area(b) - area(a))
    return { sub: id, name, picture: largest?.url, email }
  }

export const twitchUser =
  (api: string): UserReader =>
  async ({ read, clientId }) => {
    const [user = {}] = listOf(objectOf(await read(`${api}/helix/users`, { 'Client-Id': clientId })).data)
    const { broadcaster_type, description, type, offline_image_url, view_count } = user
    return {
      sub: user.id,
      name: user.login,
      nickname: user.display_name,
      slug: user.display_name,
      picture: user.profile_image_url,
      email: user.email,
      // Twitch returns verified addresses only.
      email_verified: isText(user.email),
      custom_claims: { broadcaster_type, description, type, offline_image_url, view_count },
    }
  }

/** WorkOS returns the profile with the token. */
export const workosUser: UserReader = ({ answer }) => {
  const { id, first_name, last_name, email, connection_id, organization_id } = objectOf(answer.profile)
  return Promise.resolve({
    sub: id,
    name: fullNameOf(first_name, last_name),
    // The administrator of an organisation chooses the addresses of its members.
    email,
    custom_claims: { connection_id, organization_id },
  })
}

export const zoomUser =
  (api: string): UserReader =>
  async ({ read }) => {
    const user = objectOf(await read(`${api}/users/me`))
    const { id, first_name, last_name, email, verified, pic_url: picture } = user
    return { sub: id, name: fullNameOf(first_name, last_name), picture, email, email_verified: verified === 1 }
  }
