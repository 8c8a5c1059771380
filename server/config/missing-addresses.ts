// Public addresses of the sign-in service that are missing.
import type { Config } from './config.ts'
import { signsIn } from './signing-in.ts'
import type { MissingSetting } from './missing-setting.ts'

type Settings = Pick<
  Config,
  | 'services'
  | 'serverPort'
  | 'apiExternalUrl'
  | 'authSiteUrl'
  | 'authSmtpHost'
  | 'authHooks'
  | 'authProviders'
  | 'authPasskeyEnabled'
  | 'authMfaWebAuthnVerifyEnabled'
  | 'authWebAuthnRpId'
  | 'authWebAuthnRpOrigins'
  | 'authOAuthServerEnabled'
  | 'authOAuthServerAuthorizationPath'
>

/**
 * The missing addresses, if mails, providers, passkeys or OAuth clients need it. Without them, links lead to this machine: the `Host` of
 * a request is chosen by its sender.
 */
export function missingAddresses(settings: Settings): MissingSetting[] {
  const { services, serverPort, apiExternalUrl, authSiteUrl, authSmtpHost, authHooks, authProviders } = settings
  if (!signsIn(services)) return []
  const sendsMails = authSmtpHost !== null || authHooks.get('send_email')?.enabled === true
  const hasProviders = [...authProviders.values()].some(({ enabled }) => enabled)
  const leads = sendsMails || hasProviders
  const ownOrigin = `http://localhost:${serverPort}`
  const site = apiExternalUrl === null ? ownOrigin : new URL(apiExternalUrl).origin
  const missing: MissingSetting[] = []
  if (leads && apiExternalUrl === null) {
    missing.push({
      name: 'API_EXTERNAL_URL',
      consequence: `links in mails and callbacks of providers lead to ${ownOrigin}/auth/v1, which works on this machine only`,
    })
  }
  if (leads && authSiteUrl === null) {
    missing.push({
      name: 'GOTRUE_SITE_URL',
      consequence: `after links in mails and sign-in with a provider, users are sent to ${site}`,
    })
  }
  const others = [
    ...(authSiteUrl === null ? missingRelyingParty(settings, site) : []),
    ...missingForClients(settings, ownOrigin, site),
  ]
  return [...missing, ...others.filter(({ name }) => !missing.some((known) => known.name === name))]
}

/** What names the site of passkeys, without an address of the site. */
function missingRelyingParty(
  { authPasskeyEnabled, authMfaWebAuthnVerifyEnabled, authWebAuthnRpId, authWebAuthnRpOrigins }: Settings,
  site: string,
): MissingSetting[] {
  if (!authPasskeyEnabled && !authMfaWebAuthnVerifyEnabled) return []
  const consequence = `passkeys and security keys are for pages of ${site}`
  return [
    ...(authWebAuthnRpId === null ? [{ name: 'GOTRUE_WEBAUTHN_RP_ID', consequence }] : []),
    ...(authWebAuthnRpOrigins.length === 0 ? [{ name: 'GOTRUE_WEBAUTHN_RP_ORIGINS', consequence }] : []),
  ]
}

/** What the OAuth server needs. */
function missingForClients(
  { authOAuthServerEnabled, authOAuthServerAuthorizationPath, apiExternalUrl, authSiteUrl }: Settings,
  ownOrigin: string,
  site: string,
): MissingSetting[] {
  if (!authOAuthServerEnabled) return []
  return [
    ...(apiExternalUrl === null
      ? [
          {
            name: 'API_EXTERNAL_URL',
            consequence: `the issuer of tokens for OAuth clients is ${ownOrigin}/auth/v1, which works on this machine only`,
          },
        ]
      : []),
    ...(authSiteUrl === null
      ? [{ name: 'GOTRUE_SITE_URL', consequence: `OAuth clients ask for consent on a page of ${site}` }]
      : []),
    ...(authOAuthServerAuthorizationPath === null
      ? [
          {
            name: 'GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH',
            consequence: 'requests of OAuth clients are refused, because no page asks for consent',
          },
        ]
      : []),
  ]
}
