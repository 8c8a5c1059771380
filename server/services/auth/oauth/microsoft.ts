// Microsoft's tenants: endpoints, and which issuers their ID tokens may have.
//
// https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc
// https://learn.microsoft.com/entra/identity-platform/access-tokens#validate-tokens
import type { JSONWebKeySet, JWTPayload } from 'jose'
import type { ServerMetadata } from 'openid-client'

const host = 'https://login.microsoftonline.com'
const guid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
/** The tenant of all personal accounts. */
const personal = '9188040d-6c67-4c5b-b112-36a304b66dad'
/** Stands for the tenant in what Microsoft publishes for all of them. */
const placeholder = '{tenantid}'

const isTenant = new RegExp(`^${guid}$`)
/** A tenant or a group of them, with or without the version that the URL of GoTrue's setting does not have. */
const settingUrl = new RegExp(`^(?:${host}/[a-z0-9.-]+|https://[a-z0-9-]+\\.ciamlogin\\.com/${guid})$`)
const issuerUrl = new RegExp(`^${host}/(common|organizations|consumers|${guid})/v2\\.0$`)

/**
 * The issuer of a setting: a tenant, `common` for all accounts, `organizations` for those of any organisation, or
 * `consumers` for personal ones.
 *
 * @param url of the setting; empty for `common`
 */
export function microsoftIssuer(url: string): string {
  if (url === '') return `${host}/common/v2.0`
  return settingUrl.test(url) ? `${url}/v2.0` : url
}

/** What the discovery document of such an issuer says; undefined for any other issuer, and for a tenant named by a domain. */
export function microsoftMetadata(issuer: string): ServerMetadata | undefined {
  const [, tenant] = issuerUrl.exec(issuer) ?? []
  if (tenant === undefined) return undefined
  const base = `${host}/${tenant}`
  return {
    issuer: `${host}/${issuingTenant(tenant)}/v2.0`,
    authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
    token_endpoint: `${base}/oauth2/v2.0/token`,
    userinfo_endpoint: 'https://graph.microsoft.com/oidc/userinfo',
    jwks_uri: `${base}/discovery/v2.0/keys`,
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
  }
}

function issuingTenant(tenant: string): string {
  if (tenant === 'consumers') return personal
  return tenant === 'common' || tenant === 'organizations' ? placeholder : tenant
}

/** Whether an issuer is a tenant of a group that the settings name. */
export function isTenantOf(configured: string, issuer: string): boolean {
  const [, tenant = ''] = issuerUrl.exec(issuer) ?? []
  const [, group = ''] = issuerUrl.exec(configured) ?? []
  if (!isTenant.test(tenant)) return false
  if (group === 'common') return true
  return group === 'organizations' ? tenant !== personal : group === 'consumers' && tenant === personal
}

/** Whether tokens of an issuer, as its metadata name it, come from the tenants of many organisations. */
export const isOfManyTenants = (issuer: string): boolean => issuer.includes(placeholder)

/**
 * Whether claims come from a tenant whose accounts the settings let in, and were signed by a key of that tenant: the key
 * set of all tenants says of each key whose tokens it signs.
 *
 * @param configured the issuer of the settings
 * @param documented the issuer as the metadata name it, with a placeholder
 * @param keys the key set that verified the token
 * @param keyId of the token's header
 */
export function isAcceptedTenant(
  { iss, tid }: JWTPayload,
  { configured, documented, keys, keyId }: AcceptedTenants,
): boolean {
  if (typeof tid !== 'string' || !isTenant.test(tid)) return false
  if (iss !== documented.replace(placeholder, tid)) return false
  if (configured === `${host}/organizations/v2.0` && tid === personal) return false
  const key = keys?.keys.find(({ kid }) => kid === keyId)
  const { issuer: signs } = (key ?? {}) as { readonly issuer?: unknown }
  return signs === undefined || (typeof signs === 'string' && signs.replace(placeholder, tid) === iss)
}

type AcceptedTenants = {
  readonly configured: string
  readonly documented: string
  readonly keys: JSONWebKeySet | undefined
  readonly keyId: string | undefined
}
