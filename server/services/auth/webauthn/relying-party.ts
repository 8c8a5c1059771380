// The site that passkeys and security keys are registered for.
import type { AuthSettings } from '../settings.ts'

/** https://www.w3.org/TR/webauthn-3/#relying-party */
export type RelyingParty = {
  /** Domain */
  readonly id: string
  /** For the dialogs of browsers. */
  readonly name: string
  /** Origins of the pages and apps that may use the credentials. */
  readonly origins: readonly string[]
}

type Settings = Pick<
  AuthSettings,
  'authWebAuthnRpId' | 'authWebAuthnRpDisplayName' | 'authWebAuthnRpOrigins' | 'authSiteUrl' | 'apiExternalUrl'
>

/**
 * The relying party of the settings. What they do not name is that of the site; the `Host` of a request decides nothing.
 *
 * @param ownOrigin where this server listens, if nothing else is known: `http://localhost:3000`
 */
export function relyingPartyOf(settings: Settings, ownOrigin: string): RelyingParty {
  const site = [settings.authSiteUrl, settings.apiExternalUrl, ownOrigin].find((url) => url?.startsWith('http'))
  const { origin, hostname } = new URL(site ?? ownOrigin)
  const id = settings.authWebAuthnRpId ?? hostname
  return {
    id,
    name: settings.authWebAuthnRpDisplayName ?? id,
    origins: settings.authWebAuthnRpOrigins.length > 0 ? settings.authWebAuthnRpOrigins : [origin],
  }
}
