// Public addresses of the sign-in service that are missing.
import type { Config } from './config.ts'
import { signsIn } from './signing-in.ts'
import type { MissingSetting } from './missing-setting.ts'

type Settings = Pick<
  Config,
  'services' | 'serverPort' | 'apiExternalUrl' | 'authSiteUrl' | 'authSmtpHost' | 'authHooks' | 'authProviders'
>

/**
 * The missing addresses, if mails or providers need it. Without them, links lead to this machine: the `Host` of
 * a request is chosen by its sender.
 */
export function missingAddresses(settings: Settings): MissingSetting[] {
  const { services, serverPort, apiExternalUrl, authSiteUrl, authSmtpHost, authHooks, authProviders } = settings
  const sendsMails = authSmtpHost !== null || authHooks.get('send_email')?.enabled === true
  const hasProviders = [...authProviders.values()].some(({ enabled }) => enabled)
  if (!signsIn(services) || (!sendsMails && !hasProviders)) return []
  const ownOrigin = `http://localhost:${serverPort}`
  const missing: MissingSetting[] = []
  if (apiExternalUrl === null) {
    missing.push({
      name: 'API_EXTERNAL_URL',
      consequence: `links in mails and callbacks of providers lead to ${ownOrigin}/auth/v1, which works on this machine only`,
    })
  }
  if (authSiteUrl === null) {
    const site = apiExternalUrl === null ? ownOrigin : new URL(apiExternalUrl).origin
    missing.push({
      name: 'GOTRUE_SITE_URL',
      consequence: `after links in mails and sign-in with a provider, users are sent to ${site}`,
    })
  }
  return missing
}
