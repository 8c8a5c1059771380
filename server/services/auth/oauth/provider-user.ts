// A user as a provider describes it, by the claims of an ID token and of its user information.
import { asciiLowerCase } from '../../../text/ascii-case.ts'
import { isStorable } from '../../../text/storable-text.ts'

/** Claims of a provider. */
export type ProviderClaims = Readonly<Record<string, unknown>>

export type ProviderUser = {
  /** The id of the user at the provider. */
  readonly subject: string
  /** With ASCII letters in lower case; undefined if the provider does not tell it. */
  readonly email: string | undefined
  /** Whether the provider knows that the address is the user's. */
  readonly isVerified: boolean
  /** What is stored as `identity_data`, and in the data of the user. */
  readonly data: Readonly<Record<string, unknown>>
}

/** Who says claims. */
export type ClaimsSource = {
  /** The claim `iss`. */
  readonly issuer: string
  /** Name of the provider in the settings, which may have another address than Microsoft's, such as that of a national cloud. */
  readonly provider: string
}

/** Claims of the profile that are texts. https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims */
const profileClaims = [
  'name',
  'family_name',
  'given_name',
  'middle_name',
  'nickname',
  'preferred_username',
  // Names of GoTrue.
  'user_name',
  'slug',
  'profile',
  'picture',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale',
] as const

/** Bytes in an address, as in the column. */
const maxAddress = 255
/** Bytes in the id of a user. OpenID Connect allows 255; an entry of an index in Postgres has room for 2,700. */
const maxSubject = 2000

/**
 * The user of verified claims; undefined if the claim `sub` identifies no one. It must be a text: numbers and other values
 * have no spelling that all parties agree on, and two users must never be stored under one id.
 */
export function providerUser({ issuer, provider }: ClaimsSource, claims: ProviderClaims): ProviderUser | undefined {
  const subject = textOf(claims.sub)
  if (subject === undefined || Buffer.byteLength(subject) > maxSubject) return undefined
  const email = textOf(claims.email)
  const address = email !== undefined && isAddress(email) ? asciiLowerCase(email) : undefined
  const isVerified =
    address !== undefined &&
    isTrue(provider === 'azure' || isMicrosoft(issuer) ? claims.xms_edov : claims.email_verified)
  const profile = Object.fromEntries(
    profileClaims.flatMap((name) => {
      const value = textOf(claims[name])
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const { name, picture } = profile
  const custom = customClaims(claims.custom_claims)
  const fullName = textOf(claims.full_name) ?? name
  const phone = textOf(claims.phone_number)
  return {
    subject,
    email: address,
    isVerified,
    data: {
      iss: issuer,
      sub: subject,
      ...profile,
      ...(fullName === undefined ? {} : { full_name: fullName }),
      ...(picture === undefined ? {} : { avatar_url: picture }),
      provider_id: subject,
      ...(address === undefined ? {} : { email: address }),
      email_verified: isVerified,
      ...(phone === undefined ? {} : { phone }),
      phone_verified: phone !== undefined && claims.phone_number_verified === true,
      ...(Object.keys(custom).length === 0 ? {} : { custom_claims: custom }),
    },
  }
}

/** What a provider says beyond the profile, as far as Postgres can store it. */
function customClaims(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, unknown>>).filter(
      ([name, claim]) => claim !== undefined && claim !== null && claim !== '' && isStorableJson({ [name]: claim }),
    ),
  )
}

/** Whether all texts within a value can be stored. */
function isStorableJson(value: object): boolean {
  let isSound = true
  JSON.stringify(value, (name, member: unknown) => {
    isSound &&= isStorable(name) && (typeof member !== 'string' || isStorable(member))
    return member
  })
  return isSound
}

/** Whether mails can have the address, which may be an international one. Blanks and control characters are for headers. */
const isAddress = (email: string): boolean => email.length <= maxAddress && /^[^\s\p{C}@]+@[^\s\p{C}@]+$/u.test(email)

/** Some providers send texts or numbers. */
const isTrue = (value: unknown): boolean => value === true || value === 'true' || value === 1 || value === '1'

/**
 * Whether tokens of the issuer are those of a tenant of Microsoft, whose administrator chooses addresses freely. Only the
 * claim `xms_edov` says that the tenant has proven to own the domain.
 * https://learn.microsoft.com/entra/identity-platform/migrate-off-email-claim-authorization
 */
const isMicrosoft = (issuer: string): boolean =>
  /^https:\/\/(?:login\.microsoftonline\.(?:com|us)|login\.partner\.microsoftonline\.cn|sts\.windows\.net|[a-z0-9-]+\.ciamlogin\.com)\//.test(
    issuer,
  )

/** A text that Postgres can store; undefined for anything else, and for empty text. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && isStorable(value) ? value : undefined
