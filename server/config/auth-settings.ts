// The settings of `/auth/v1`, with the names and defaults of GoTrue. https://github.com/supabase/auth#configuration
import type { AuthSettingFamilies, AuthSettings } from '../services/auth/settings.ts'
import { authMailSettings } from './auth-mail-settings.ts'
import * as authTypes from './auth-setting-types.ts'
import { authSetting as auth, type AuthSettingTable } from './auth-setting.ts'
import * as types from './setting-types.ts'

type CoreKey = Exclude<keyof AuthSettings, keyof AuthSettingFamilies | keyof typeof authMailSettings>

const perFiveMinutes = 'per client in 5 minutes; 0 for no limit.'

const coreSettings: AuthSettingTable<CoreKey> = {
  apiExternalUrl: auth('API_EXTERNAL_URL', authTypes.httpUrl, null, {
    description: 'Public URL of the sign-in service.',
    defaultInWords: '`/auth/v1` of the host that the request names',
    example: '"https://example.org/auth/v1"',
  }),
  authSiteUrl: auth('GOTRUE_SITE_URL', authTypes.absoluteUrl, null, {
    description: 'Page that links in mails and sign-in with a provider lead to, unless the request names another.',
    defaultInWords: 'the host of `api-external-url`',
    example: '"https://example.org"',
  }),
  authUriAllowList: auth('GOTRUE_URI_ALLOW_LIST', types.emptyableList, [], {
    description: 'Further pages that they may lead to. `*` matches up to a dot or slash, `**` matches anything.',
    example: '"https://*.example.org/**"',
  }),
  authDisableSignup: auth('GOTRUE_DISABLE_SIGNUP', types.boolean, false, {
    description: 'Whether sign-up is disabled.',
  }),

  authJwtKeys: auth('GOTRUE_JWT_KEYS', types.jsonWebKeys, null, {
    description:
      'JSON Web Keys of access tokens, or `@file`. The one whose `key_ops` has `sign` signs, all verify, at the REST API, too.',
    defaultInWords: '`jwt-secret`; with the embedded database, a generated ES256 key',
    example: '"@/run/secrets/jwt-keys"',
    change: 'database',
  }),
  authJwtSecret: auth('GOTRUE_JWT_SECRET', types.secret, null, {
    description: 'Secret for HS256. Tokens that it has signed are accepted beside those of the keys.',
    defaultInWords: 'as `jwt-secret`',
    example: '"$(JWT_SECRET)"',
    change: 'database',
  }),
  authJwtExp: auth('GOTRUE_JWT_EXP', types.integer({ min: 1, max: 31_536_000 }), 3600, {
    description: 'Seconds that access tokens are valid.',
  }),
  authJwtAud: auth('GOTRUE_JWT_AUD', types.text, 'authenticated', { description: 'Audience of access tokens.' }),
  authJwtAllowedAudiences: auth('GOTRUE_JWT_ALLOWED_AUDIENCES', types.emptyableList, [], {
    description: 'Further audiences that requests may name in the header `X-JWT-AUD`. Administrators may name any.',
    example: '"app,backoffice"',
  }),
  authJwtIssuer: auth('GOTRUE_JWT_ISSUER', types.optionalText, null, {
    description: 'Issuer of access tokens.',
    defaultInWords: 'as `api-external-url`',
    example: '"https://example.org/auth/v1"',
  }),
  authJwtPublishVerificationKeys: auth('GOTRUE_JWT_PUBLISH_VERIFICATION_KEYS', types.boolean, false, {
    description:
      'Whether `/.well-known/jwks.json` has the public keys of `jwt-secret`, too, which verify tokens of others.',
  }),
  authJwtValidMethods: auth('GOTRUE_JWT_VALID_METHODS', types.emptyableList, [], {
    description: 'Algorithms of access tokens that the sign-in service accepts.',
    defaultInWords: 'those of the keys',
    example: '"ES256,HS256"',
  }),
  authJwtAdminRoles: auth('GOTRUE_JWT_ADMIN_ROLES', types.list, ['service_role', 'supabase_admin'], {
    description: 'Roles that may use the admin API.',
  }),
  authJwtDefaultGroupName: auth('GOTRUE_JWT_DEFAULT_GROUP_NAME', types.text, 'authenticated', {
    description: 'Role of new users.',
  }),

  authExternalEmailEnabled: auth('GOTRUE_EXTERNAL_EMAIL_ENABLED', types.boolean, true, {
    description: 'Whether users can sign up and sign in with an e-mail address.',
  }),
  authExternalEmailMagicLinkEnabled: auth('GOTRUE_EXTERNAL_EMAIL_MAGIC_LINK_ENABLED', types.boolean, true, {
    description: 'Whether users can sign in with a link or code in a mail.',
  }),
  authExternalPhoneEnabled: auth('GOTRUE_EXTERNAL_PHONE_ENABLED', types.boolean, false, {
    description: 'Whether users can sign up and sign in with a phone number.',
  }),
  authExternalAnonymousUsersEnabled: auth('GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED', types.boolean, false, {
    description: 'Whether users can sign in without an address.',
  }),
  authExternalFlowStateExpiryDuration: auth('GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION', authTypes.duration, 300, {
    description: 'Time that sign-in with a provider, or with PKCE, may take.',
  }),
  authExternalAllowedIdTokenIssuers: auth('GOTRUE_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS', types.emptyableList, [], {
    description:
      'Issuers whose ID tokens are accepted although their provider is not enabled. A provider must have the issuer as `URL`, and `CLIENT_ID`: the client ids that the tokens may be for.',
    example: '"https://accounts.google.com"',
  }),

  authPasswordMinLength: auth('GOTRUE_PASSWORD_MIN_LENGTH', types.integer({ min: 6, max: 72 }), 6, {
    description: 'Characters that a password needs.',
  }),
  authPasswordRequiredCharacters: auth('GOTRUE_PASSWORD_REQUIRED_CHARACTERS', authTypes.characterSets, [], {
    description: 'Sets of characters, separated by colons. A password needs a character of each.',
    example: '"abcdefghijklmnopqrstuvwxyz:0123456789"',
  }),

  authRefreshTokenRotationEnabled: auth('GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED', types.boolean, true, {
    description: 'Whether reusing a refresh token ends its session.',
  }),
  authRefreshTokenReuseInterval: auth(
    'GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL',
    types.integer({ min: 0, max: 86_400 }),
    0,
    { description: 'Seconds in which a used refresh token may be used again. Supabase sets 10.' },
  ),
  authUpdatePasswordRequireReauthentication: auth(
    'GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION',
    types.boolean,
    false,
    { description: 'Whether a session older than a day needs a code by mail to change the password.' },
  ),
  authUpdatePasswordRequireCurrentPassword: auth(
    'GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD',
    types.boolean,
    false,
    { description: 'Whether changing the password needs the current one.' },
  ),
  authManualLinkingEnabled: auth('GOTRUE_SECURITY_MANUAL_LINKING_ENABLED', types.boolean, false, {
    description: 'Whether users can link and unlink identities.',
  }),

  authSessionsTimebox: auth('GOTRUE_SESSIONS_TIMEBOX', authTypes.optionalDuration, null, {
    description: 'Time after which a session ends in any case.',
    example: '"24h"',
  }),
  authSessionsInactivityTimeout: auth('GOTRUE_SESSIONS_INACTIVITY_TIMEOUT', authTypes.optionalDuration, null, {
    description: 'Time without a refresh after which a session ends.',
    example: '"8h"',
  }),
  authSessionsAllowLowAal: auth('GOTRUE_SESSIONS_ALLOW_LOW_AAL', authTypes.optionalDuration, null, {
    description: 'Time after which a session of a user with a second factor ends unless the factor was verified.',
    example: '"15m"',
  }),
  authSessionsSinglePerUser: auth('GOTRUE_SESSIONS_SINGLE_PER_USER', types.boolean, false, {
    description: 'Whether only the newest session of a user can be refreshed.',
  }),
  authSessionsCheckAccessTokens: auth('GOTRUE_SESSIONS_CHECK_ACCESS_TOKENS', types.boolean, true, {
    description:
      'Whether all services refuse access tokens of ended sessions. Otherwise, they are good until they expire, as in Supabase.',
  }),

  authMfaTotpEnrollEnabled: auth('GOTRUE_MFA_TOTP_ENROLL_ENABLED', types.boolean, true, {
    description: 'Whether users can add an authenticator app.',
  }),
  authMfaTotpVerifyEnabled: auth('GOTRUE_MFA_TOTP_VERIFY_ENABLED', types.boolean, true, {
    description: 'Whether codes of authenticator apps are accepted.',
  }),
  authMfaPhoneEnrollEnabled: auth('GOTRUE_MFA_PHONE_ENROLL_ENABLED', types.boolean, false, {
    description: 'Whether users can add a phone as a second factor.',
  }),
  authMfaPhoneVerifyEnabled: auth('GOTRUE_MFA_PHONE_VERIFY_ENABLED', types.boolean, false, {
    description: 'Whether codes sent to phones are accepted as a second factor.',
  }),
  authMfaWebAuthnEnrollEnabled: auth('GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED', types.boolean, false, {
    description: 'Whether users can add a security key or passkey as a second factor.',
  }),
  authMfaWebAuthnVerifyEnabled: auth('GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED', types.boolean, false, {
    description: 'Whether security keys are accepted as a second factor.',
  }),
  authMfaMaxEnrolledFactors: auth('GOTRUE_MFA_MAX_ENROLLED_FACTORS', types.integer({ min: 0, max: 1000 }), 10, {
    description: 'Maximum number of second factors of a user.',
  }),
  authMfaMaxVerifiedFactors: auth('GOTRUE_MFA_MAX_VERIFIED_FACTORS', types.integer({ min: 0, max: 1000 }), 10, {
    description: 'Maximum number of verified ones.',
  }),
  authMfaChallengeExpiryDuration: auth(
    'GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION',
    types.integer({ min: 1, max: 86_400 }),
    300,
    { description: 'Seconds to answer the challenge of a second factor.' },
  ),
  authMfaFactorExpiryDuration: auth('GOTRUE_MFA_FACTOR_EXPIRY_DURATION', authTypes.duration, 300, {
    description: 'Time after which a second factor that was not verified may be deleted.',
  }),
  authMfaPhoneOtpLength: auth('GOTRUE_MFA_PHONE_OTP_LENGTH', types.integer({ min: 6, max: 10 }), 6, {
    description: 'Digits of a code for a phone as a second factor.',
  }),
  authMfaPhoneMaxFrequency: auth('GOTRUE_MFA_PHONE_MAX_FREQUENCY', authTypes.duration, 60, {
    description: 'Time between two such codes.',
  }),

  authPasskeyEnabled: auth('GOTRUE_PASSKEY_ENABLED', types.boolean, false, {
    description: 'Whether users can add passkeys, and sign in with them.',
  }),
  authPasskeyMaxPasskeysPerUser: auth(
    'GOTRUE_PASSKEY_MAX_PASSKEYS_PER_USER',
    types.integer({ min: 0, max: 1000 }),
    10,
    { description: 'Maximum number of passkeys of a user.' },
  ),
  authWebAuthnRpId: auth('GOTRUE_WEBAUTHN_RP_ID', authTypes.domain, null, {
    description:
      'Domain of the pages that use passkeys and security keys; its subdomains may use them, too. Those that were registered for another domain are lost with a change.',
    defaultInWords: 'the host of `gotrue-site-url`',
    example: '"example.org"',
  }),
  authWebAuthnRpOrigins: auth('GOTRUE_WEBAUTHN_RP_ORIGINS', authTypes.origins, [], {
    description: 'Origins of these pages, exactly as browsers write them, and of apps (`android:apk-key-hash:…`).',
    defaultInWords: 'the origin of `gotrue-site-url`',
    example: '"https://example.org,https://app.example.org"',
  }),
  authWebAuthnRpDisplayName: auth('GOTRUE_WEBAUTHN_RP_DISPLAY_NAME', types.optionalText, null, {
    description: 'Name of the site in the dialogs of browsers.',
    defaultInWords: 'as `gotrue-webauthn-rp-id`',
    example: '"Example"',
  }),
  authWebAuthnChallengeExpiryDuration: auth('GOTRUE_WEBAUTHN_CHALLENGE_EXPIRY_DURATION', authTypes.duration, 300, {
    description: 'Time to answer the challenge of a passkey.',
  }),

  authOAuthServerEnabled: auth('GOTRUE_OAUTH_SERVER_ENABLED', types.boolean, false, {
    description:
      'Whether applications of others can get access to accounts, with the consent of their users, by OAuth 2.1.',
  }),
  authOAuthServerAllowDynamicRegistration: auth(
    'GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION',
    types.boolean,
    false,
    { description: 'Whether they can register themselves. Otherwise, administrators register them.' },
  ),
  authOAuthServerAuthorizationPath: auth('GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH', authTypes.sitePath, null, {
    description: 'Path of the page of `gotrue-site-url` that asks users for their consent.',
    defaultInWords: 'none: requests of applications are refused',
    example: '"/oauth/consent"',
  }),
  authOAuthServerAuthorizationTtl: auth('GOTRUE_OAUTH_SERVER_AUTHORIZATION_TTL', authTypes.lifetime, 600, {
    description: 'Time from the request of an application until it has exchanged its code.',
  }),
  authOAuthServerDefaultScope: auth('GOTRUE_OAUTH_SERVER_DEFAULT_SCOPE', authTypes.scopes, 'email', {
    description: 'Scopes of requests that name none: `openid`, `profile`, `email`, `phone`, `offline_access`.',
    example: '"openid email"',
  }),

  authRateLimitHeader: auth('GOTRUE_RATE_LIMIT_HEADER', types.headerName, null, {
    description:
      'Request header with the address of the client, by which the next limits count. A proxy must set it. All clients of an IPv6 /56 may do twice as much as one, those of a /48 four times as much.',
    defaultInWords: 'the network of the client, see `trusted-proxies`; the same machine is not limited',
    example: '"X-Real-IP"',
  }),
  authRateLimitOtp: auth('GOTRUE_RATE_LIMIT_OTP', authTypes.count, 30, {
    description: `Requests that may send a mail or message, ${perFiveMinutes}`,
  }),
  authRateLimitVerify: auth('GOTRUE_RATE_LIMIT_VERIFY', authTypes.count, 30, {
    description: `Links, codes and invitations, at all routes together, ${perFiveMinutes}`,
  }),
  authRateLimitTokenRefresh: auth('GOTRUE_RATE_LIMIT_TOKEN_REFRESH', authTypes.count, 150, {
    description: `Requests for tokens ${perFiveMinutes}`,
  }),
  authRateLimitSso: auth('GOTRUE_RATE_LIMIT_SSO', authTypes.count, 30, {
    description: `Requests for single sign-on ${perFiveMinutes}`,
  }),
  authRateLimitWeb3: auth('GOTRUE_RATE_LIMIT_WEB3', authTypes.count, 30, {
    description: `Requests for sign-in with a wallet ${perFiveMinutes}`,
  }),
  authRateLimitPasskey: auth('GOTRUE_RATE_LIMIT_PASSKEY', authTypes.count, 30, {
    description: `Requests to sign in with a passkey, and requests to add one, ${perFiveMinutes}`,
  }),
  authRateLimitOAuthDynamicClientRegister: auth(
    'GOTRUE_RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER',
    authTypes.count,
    10,
    { description: `Applications that register themselves ${perFiveMinutes}` },
  ),
  authRateLimitAnonymousUsers: auth('GOTRUE_RATE_LIMIT_ANONYMOUS_USERS', authTypes.count, 30, {
    description: 'Anonymous sign-ins per client in an hour; 0 for no limit.',
  }),
  authMfaRateLimitChallengeAndVerify: auth('GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY', authTypes.count, 15, {
    description: 'Challenges and answers of second factors per client in a minute; 0 for no limit.',
  }),
  authRateLimitEmailSent: auth(
    'GOTRUE_RATE_LIMIT_EMAIL_SENT',
    authTypes.rate,
    { events: 30, period: 3600 },
    {
      description:
        'Mails of the whole service: a number per hour, or a rate such as `30/10m`. Those about changes of accounts are counted apart, with the same limit, of which one account gets at most a tenth, but at least 3.',
    },
  ),
  authRateLimitSmsSent: auth(
    'GOTRUE_RATE_LIMIT_SMS_SENT',
    authTypes.rate,
    { events: 30, period: 3600 },
    {
      description: 'Messages of the whole service: a number per hour, or a rate such as `30/10m`.',
    },
  ),

  authCorsAllowedHeaders: auth('GOTRUE_CORS_ALLOWED_HEADERS', types.emptyableList, [], {
    description: 'Further request headers that pages may send to the sign-in service.',
  }),
}

export const authSettings: AuthSettingTable<Exclude<keyof AuthSettings, keyof AuthSettingFamilies>> = {
  ...coreSettings,
  ...authMailSettings,
}
