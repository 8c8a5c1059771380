// What a client says of itself when it is registered or changed (RFC 7591), with GoTrue's rules and messages. Anyone may register
// a client where the settings permit it, and people see its name, page and image.
import { authErrors, type AuthError } from '../auth-error.ts'
import { isEmpty } from '../request-text.ts'
import { authMethods, grantTypes, type ClientAuthMethod, type OAuthClient } from './oauth-client.ts'
import { redirectUrisFault } from './redirect-uri.ts'

/** `schemas/auth-oauth-client-dto.json`. Other members of RFC 7591 are ignored. */
export type ClientDto = {
  readonly redirect_uris?: readonly string[] | null
  readonly client_type?: string | null
  readonly token_endpoint_auth_method?: string | null
  readonly grant_types?: readonly string[] | null
  readonly client_name?: string | null
  readonly client_uri?: string | null
  readonly logo_uri?: string | null
}

/** The members of a client as the database stores them. */
export type ClientColumns = Readonly<Record<string, string | null>>

const longestName = 1024
const longestUri = 2048

/** Characters that could make a name look like something else: controls, and those that change the direction of text. */
const deceptive = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

const isListed = <Name extends string>(names: readonly Name[], text: string): text is Name =>
  (names as readonly string[]).includes(text)

/**
 * A new client.
 *
 * @throws AuthError 400 `validation_failed`
 */
export function newClient(body: ClientDto): { readonly type: OAuthClient['type']; readonly columns: ClientColumns } {
  requireNone(redirectUrisFault(body.redirect_uris))
  const { client_type: wanted, token_endpoint_auth_method: method } = body
  requireCommon(body)
  if (!isEmpty(wanted) && wanted !== 'public' && wanted !== 'confidential') {
    throw authErrors.invalid("client_type must be 'public' or 'confidential'")
  }
  const ofMethod = isEmpty(method) ? undefined : typeOf(method)
  if (!isEmpty(wanted) && ofMethod !== undefined && wanted !== ofMethod) {
    throw authErrors.invalid(
      `client_type '${wanted}' is inconsistent with token_endpoint_auth_method '${method ?? ''}' (expected client_type '${ofMethod}')`,
    )
  }
  const type = isEmpty(wanted) ? (ofMethod ?? 'confidential') : wanted
  const usual: ClientAuthMethod = type === 'public' ? 'none' : 'client_secret_basic'
  const grants = body.grant_types?.length ? body.grant_types : grantTypes
  return {
    type,
    columns: {
      ...columnsOf(body),
      client_type: type,
      token_endpoint_auth_method: isEmpty(method) ? usual : method,
      grant_types: [...new Set(grants)].join(),
    },
  }
}

/**
 * Changes of a client: members that are missing stay as they are.
 *
 * @throws AuthError 400 `validation_failed`
 */
export function changedClient(body: ClientDto): ClientColumns {
  const { redirect_uris: uris, grant_types: grants, token_endpoint_auth_method: method } = body
  if (uris !== undefined && uris !== null) {
    requireNone(uris.length === 0 ? 'redirect_uris cannot be empty' : redirectUrisFault(uris))
  }
  if (grants?.length === 0) throw authErrors.invalid('grant_types cannot be empty')
  requireCommon(body)
  const columns = {
    ...columnsOf(body),
    ...(method === undefined || method === null ? {} : { token_endpoint_auth_method: method }),
    ...(grants === undefined || grants === null ? {} : { grant_types: [...new Set(grants)].join() }),
  }
  if (Object.keys(columns).length === 0) throw authErrors.invalid('No fields provided for update')
  return columns
}

/** The error of a method that a client of this type cannot have. */
export const wrongMethod = (method: string, type: OAuthClient['type']): AuthError => {
  const valid = authMethods.filter((name) => typeOf(name) === type).join(', ')
  return authErrors.invalid(
    `token_endpoint_auth_method '${method}' is not valid for client_type '${type}'; valid methods: ${valid}`,
  )
}

const typeOf = (method: string): OAuthClient['type'] => (method === 'none' ? 'public' : 'confidential')

function columnsOf({ redirect_uris: uris, client_name, client_uri, logo_uri }: ClientDto): ClientColumns {
  const given = Object.entries({ client_name, client_uri, logo_uri }).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return { ...(uris ? { redirect_uris: uris.join() } : {}), ...Object.fromEntries(given) }
}

function requireNone(fault: string | undefined): void {
  if (fault !== undefined) throw authErrors.invalid(fault)
}

function requireCommon(body: ClientDto): void {
  const { grant_types: grants, client_name: name, token_endpoint_auth_method: method } = body
  if (grants?.some((grant) => !isListed(grantTypes, grant)) === true) {
    throw authErrors.invalid("grant_types must only contain 'authorization_code' and/or 'refresh_token'")
  }
  if (!isEmpty(name)) {
    if (name.length > longestName) throw authErrors.invalid(`client_name cannot exceed ${longestName} characters`)
    if (deceptive.test(name)) throw authErrors.invalid('client_name must not have control characters')
  }
  requireUrl('client_uri', body.client_uri)
  requireUrl('logo_uri', body.logo_uri)
  if (!isEmpty(method) && !isListed(authMethods, method)) {
    throw authErrors.invalid(`token_endpoint_auth_method must be one of: ${authMethods.join(', ')}`)
  }
}

/** Pages put these into links and images. */
function requireUrl(name: string, text: string | null | undefined): void {
  if (isEmpty(text)) return
  if (text.length > longestUri) throw authErrors.invalid(`${name} cannot exceed ${longestUri} characters`)
  if (!/^https?:\/\/[\x21\x23-\x3b\x3d\x3f-\x5b\x5d-\x7e]+$/i.test(text) || !URL.canParse(text)) {
    throw authErrors.invalid(`${name} must be a valid URL, with the scheme https or http`)
  }
}
