// The settings of `/auth/v1`. Their environment variables have GoTrue's names; the table is in
// `config/auth-settings.ts`.

/** A limit of events per time. */
export type Rate = {
  readonly events: number
  /** Seconds. */
  readonly period: number
}

/** `GOTRUE_EXTERNAL_<PROVIDER>_*` */
export type ProviderSettings = {
  readonly enabled: boolean
  /** The first one is used for `/authorize`; tokens for any of them are accepted. */
  readonly clientIds: readonly string[]
  readonly secret: string
  readonly redirectUri: string
  /** Issuer of an OpenID Connect provider, or the host of a service. */
  readonly url: string
  readonly skipNonceCheck: boolean
  /** Whether accounts without an e-mail address are accepted. */
  readonly emailOptional: boolean
  /** The parts of which Apple's secret is made; empty if the secret is given. */
  readonly keyId: string
  readonly teamId: string
  /** In PEM. */
  readonly privateKey: string
}

export type HookName =
  | 'custom_access_token'
  | 'send_email'
  | 'send_sms'
  | 'before_user_created'
  | 'after_user_created'
  | 'mfa_verification_attempt'
  | 'password_verification_attempt'

/** `GOTRUE_HOOK_<NAME>_*` */
export type HookSettings = {
  readonly enabled: boolean
  /** `pg-functions://postgres/schema/function`, or an http(s) URL. */
  readonly uri: string
  /** `v1,whsec_…` */
  readonly secrets: readonly string[]
}

/** Kinds of mails whose subject and template can be set. */
export type CustomMailKind =
  | 'invite'
  | 'confirmation'
  | 'recovery'
  | 'email_change'
  | 'magic_link'
  | 'reauthentication'
  | 'password_changed_notification'
  | 'email_changed_notification'
  | 'phone_changed_notification'
  | 'identity_linked_notification'
  | 'identity_unlinked_notification'
  | 'mfa_factor_enrolled_notification'
  | 'mfa_factor_unenrolled_notification'
  | 'passkey_added_notification'
  | 'passkey_removed_notification'

/** `GOTRUE_MAILER_{SUBJECTS,TEMPLATES,URLPATHS}_<KIND>`; null for the default. */
export type MailContent = {
  readonly subject: string | null
  /** http(s) or file URL, or path of a template in HTML. */
  readonly template: string | null
  readonly urlPath: string | null
}

export type AuthSettings = {
  /** Public URL of this service, `https://example.org/auth/v1`. Null: that of the request's `Host`. */
  readonly apiExternalUrl: string | null
  /** Default target of redirects. Null: that of `apiExternalUrl` or of the request. */
  readonly authSiteUrl: string | null
  readonly authUriAllowList: readonly string[]
  readonly authDisableSignup: boolean

  /** JSON Web Keys as JSON text: an array, or an object with `keys`. */
  readonly authJwtKeys: string | null
  /** Secret for HS256. */
  readonly authJwtSecret: string | null
  /** Lifetime of access tokens in seconds. */
  readonly authJwtExp: number
  readonly authJwtAud: string
  /** Further audiences that requests may name. */
  readonly authJwtAllowedAudiences: readonly string[]
  readonly authJwtIssuer: string | null
  /** Whether the public keys of `jwt-secret`, which sign nothing here, are published, too. */
  readonly authJwtPublishVerificationKeys: boolean
  /** Algorithms that are accepted; empty for those of the keys. */
  readonly authJwtValidMethods: readonly string[]
  readonly authJwtAdminRoles: readonly string[]
  /** Role of new users. */
  readonly authJwtDefaultGroupName: string

  readonly authExternalEmailEnabled: boolean
  readonly authExternalEmailMagicLinkEnabled: boolean
  readonly authExternalPhoneEnabled: boolean
  readonly authExternalAnonymousUsersEnabled: boolean
  /** Seconds that an OAuth or PKCE flow may take. */
  readonly authExternalFlowStateExpiryDuration: number
  /** See `Providers.findByIssuer`. */
  readonly authExternalAllowedIdTokenIssuers: readonly string[]
  /** By name in lower case: `google`. */
  readonly authProviders: ReadonlyMap<string, ProviderSettings>
  readonly authHooks: ReadonlyMap<HookName, HookSettings>

  readonly authMailerAutoconfirm: boolean
  readonly authMailerAllowUnverifiedEmailSignIns: boolean
  readonly authMailerSecureEmailChangeEnabled: boolean
  /** Seconds. */
  readonly authMailerOtpExp: number
  /** Digits. */
  readonly authMailerOtpLength: number
  /** Whether a link in a mail shows a button, so that programs which open links do not use it up. */
  readonly authMailerVerifyButton: boolean
  /** Further hosts that links in mails may point to. */
  readonly authMailerExternalHosts: readonly string[]
  /** Whether accounts get a mail about a new password, and so on. */
  readonly authMailerNotificationsPasswordChangedEnabled: boolean
  readonly authMailerNotificationsEmailChangedEnabled: boolean
  readonly authMailerNotificationsPhoneChangedEnabled: boolean
  readonly authMailerNotificationsIdentityLinkedEnabled: boolean
  readonly authMailerNotificationsIdentityUnlinkedEnabled: boolean
  readonly authMailerNotificationsMfaFactorEnrolledEnabled: boolean
  readonly authMailerNotificationsMfaFactorUnenrolledEnabled: boolean
  readonly authMailerNotificationsPasskeyAddedEnabled: boolean
  readonly authMailerNotificationsPasskeyRemovedEnabled: boolean
  /** Whether templates that fail are reported only when they are used. */
  readonly authMailContents: ReadonlyMap<CustomMailKind, MailContent>

  /** Null without a mail server. */
  readonly authSmtpHost: string | null
  readonly authSmtpPort: number
  readonly authSmtpUser: string | null
  readonly authSmtpPass: string | null
  readonly authSmtpAdminEmail: string | null
  readonly authSmtpSenderName: string | null
  /** Seconds between two mails of one kind to a user. */
  readonly authSmtpMaxFrequency: number

  readonly authSmsAutoconfirm: boolean
  readonly authSmsProvider: string | null
  /** Seconds. */
  readonly authSmsOtpExp: number
  /** Digits. */
  readonly authSmsOtpLength: number
  /** Seconds between two messages to a user. */
  readonly authSmsMaxFrequency: number
  /** Text of a message, with `{{ .Code }}`. */
  readonly authSmsTemplate: string
  /** Codes of test numbers: `15551234567=123456`. */
  readonly authSmsTestOtp: readonly string[]

  readonly authPasswordMinLength: number
  /** Sets of characters, of each of which a password needs one. */
  readonly authPasswordRequiredCharacters: readonly string[]

  readonly authRefreshTokenRotationEnabled: boolean
  /** Seconds in which a used refresh token may be used again. */
  readonly authRefreshTokenReuseInterval: number
  readonly authUpdatePasswordRequireReauthentication: boolean
  readonly authUpdatePasswordRequireCurrentPassword: boolean
  readonly authManualLinkingEnabled: boolean

  /** Seconds; null without a limit. */
  readonly authSessionsTimebox: number | null
  readonly authSessionsInactivityTimeout: number | null
  readonly authSessionsAllowLowAal: number | null
  readonly authSessionsSinglePerUser: boolean
  /** Whether access tokens end with their session, in all services. */
  readonly authSessionsCheckAccessTokens: boolean

  readonly authMfaTotpEnrollEnabled: boolean
  readonly authMfaTotpVerifyEnabled: boolean
  readonly authMfaPhoneEnrollEnabled: boolean
  readonly authMfaPhoneVerifyEnabled: boolean
  readonly authMfaWebAuthnEnrollEnabled: boolean
  readonly authMfaWebAuthnVerifyEnabled: boolean
  /** Domain that passkeys and security keys are for; null for that of the site. */
  readonly authWebAuthnRpId: string | null
  /** Name of the site in the dialogs of browsers; null for the domain. */
  readonly authWebAuthnRpDisplayName: string | null
  /** Origins of the pages that may use them; empty for that of the site. */
  readonly authWebAuthnRpOrigins: readonly string[]
  /** Seconds. */
  readonly authWebAuthnChallengeExpiryDuration: number
  readonly authPasskeyEnabled: boolean
  readonly authPasskeyMaxPasskeysPerUser: number

  /** Whether applications can get access to accounts by OAuth. */
  readonly authOAuthServerEnabled: boolean
  /** Whether they can register themselves. */
  readonly authOAuthServerAllowDynamicRegistration: boolean
  /** Path of the page, below the site, that asks people for their consent; null if there is no page. */
  readonly authOAuthServerAuthorizationPath: string | null
  /** Seconds from the request of an application until its code expires. */
  readonly authOAuthServerAuthorizationTtl: number
  /** Scopes of a request that names none, separated by spaces. */
  readonly authOAuthServerDefaultScope: string

  readonly authMfaMaxEnrolledFactors: number
  readonly authMfaMaxVerifiedFactors: number
  /** Seconds. */
  readonly authMfaChallengeExpiryDuration: number
  /** Seconds after which an unverified factor may be deleted. */
  readonly authMfaFactorExpiryDuration: number
  /** Digits of a code for a phone factor. */
  readonly authMfaPhoneOtpLength: number
  /** Seconds between two messages for a phone factor. */
  readonly authMfaPhoneMaxFrequency: number

  /** Header with the address of the client, which the per-client limits count by. */
  readonly authRateLimitHeader: string | null
  /** Per client and 5 minutes. */
  readonly authRateLimitOtp: number
  readonly authRateLimitVerify: number
  readonly authRateLimitTokenRefresh: number
  readonly authRateLimitSso: number
  readonly authRateLimitWeb3: number
  readonly authRateLimitPasskey: number
  readonly authRateLimitOAuthDynamicClientRegister: number
  /** Per client and hour. */
  readonly authRateLimitAnonymousUsers: number
  /** Per client and minute. */
  readonly authMfaRateLimitChallengeAndVerify: number
  /** Of the whole service. */
  readonly authRateLimitEmailSent: Rate
  readonly authRateLimitSmsSent: Rate

  /** Further request headers that browsers may send. */
  readonly authCorsAllowedHeaders: readonly string[]
}

/** Settings whose names contain the name of a provider, a hook or a mail. */
export type AuthSettingFamilies = Pick<AuthSettings, 'authProviders' | 'authHooks' | 'authMailContents'>
