// Every secret that a request can present: how hard it is to guess, how it is stored, which routes take it, and what limits
// guesses. `tests/auth/secret-doors.test.ts` compares the table with the routes, and guesses at each door.
//
// A network is an IPv4 address or an IPv6 /64; a /56 and a /48 may do two and four times as much (`limitedNetworks`). Limits
// that a stranger can exhaust count per account and network, so that the owner is not locked out elsewhere. What has 128 bits
// or more needs no limit: at a million guesses a second, finding one takes longer than the universe is old.

/** A field of a request that takes a secret. */
export type Door = {
  /** `POST /auth/v1/verify`; `*` for every route of the server. */
  readonly route: string
  /** Names of members of the body and of parameters; of headers where the route is `*`. */
  readonly fields: readonly string[]
}

/** A limit of guesses: the numbers, or the setting that has the number. */
export type GuessLimit =
  | { readonly per: 'network' | 'account' | 'account and network'; readonly setting: string; readonly seconds: number }
  | { readonly per: 'account' | 'account and network' | 'factor'; readonly number: number; readonly seconds: number }
  /** For each value that the service has made; the count of a new value begins at 0. */
  | { readonly per: 'value'; readonly number: number }

export type Secret = {
  readonly what: string
  /** Bits of the shortest value that is permitted; null where people choose it. */
  readonly bits: number | null
  /** Where, and in which form. */
  readonly stored: string
  /** The setting, or the time. */
  readonly lifetime: string
  readonly doors: readonly Door[]
  /** All of them hold. Empty where the number of bits needs none. */
  readonly limits: readonly GuessLimit[]
}

/** Wrong codes of an account or of an address: in an hour, from one network and from all. */
export const codeGuesses = { period: 3600, pair: 10, account: 50 } as const

/** Codes that may be tried for one challenge, and for all challenges of a factor within an hour. */
export const factorGuesses = { perChallenge: 5, perFactor: 30 } as const

/** `auth.find_code` has the number, too. */
const triesPerCode = 5

const fiveMinutes = 300
const quarter = 900

const verifyLimit = { per: 'network', setting: 'GOTRUE_RATE_LIMIT_VERIFY', seconds: fiveMinutes } as const
const tokenLimit = { per: 'network', setting: 'GOTRUE_RATE_LIMIT_TOKEN_REFRESH', seconds: fiveMinutes } as const
const otpLimit = { per: 'network', setting: 'GOTRUE_RATE_LIMIT_OTP', seconds: fiveMinutes } as const
const factorLimits = [
  { per: 'network', setting: 'GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY', seconds: 60 },
  { per: 'value', number: factorGuesses.perChallenge },
  { per: 'factor', number: factorGuesses.perFactor, seconds: 3600 },
] as const
const codeLimits = [
  { per: 'value', number: triesPerCode },
  { per: 'account and network', number: codeGuesses.pair, seconds: codeGuesses.period },
  { per: 'account', number: codeGuesses.account, seconds: codeGuesses.period },
] as const
const keyedHash =
  'one_time_tokens.code_hash: SHA-256 of the address and an HMAC with a key derived from those of access tokens'
const signature = 'nowhere: it is signed with a key of the settings'

const verifyFactor = 'POST /auth/v1/factors/{factor_id}/verify'

export const secrets = {
  linkToken: {
    what: 'The token of a link in a mail',
    bits: 224,
    stored: 'one_time_tokens.token_hash, flow_state.invite_token, columns of users: SHA-256',
    lifetime: 'GOTRUE_MAILER_OTP_EXP',
    doors: [
      { route: 'POST /auth/v1/verify', fields: ['token_hash'] },
      { route: 'GET /auth/v1/verify', fields: ['token'] },
      { route: 'POST /auth/v1/verify/confirm', fields: ['token'] },
      { route: 'GET /auth/v1/authorize', fields: ['invite_token'] },
    ],
    limits: [verifyLimit],
  },
  mailedCode: {
    what: 'The code of a mail, or of a message for signing in: six digits (GOTRUE_MAILER_OTP_LENGTH, GOTRUE_SMS_OTP_LENGTH)',
    bits: 19,
    stored: keyedHash,
    lifetime: 'GOTRUE_MAILER_OTP_EXP, GOTRUE_SMS_OTP_EXP',
    doors: [{ route: 'POST /auth/v1/verify', fields: ['token'] }],
    limits: [verifyLimit, ...codeLimits],
  },
  nonce: {
    what: 'The code of a reauthentication, beside a session of the account',
    bits: 19,
    stored: keyedHash,
    lifetime: 'GOTRUE_MAILER_OTP_EXP',
    doors: [{ route: 'PUT /auth/v1/user', fields: ['nonce'] }],
    limits: [otpLimit, ...codeLimits],
  },
  password: {
    what: 'A password',
    bits: null,
    stored: 'users.encrypted_password: Argon2id, or the slow hash that it was imported with',
    lifetime: 'until it is changed',
    doors: [
      { route: 'POST /auth/v1/token', fields: ['password'] },
      { route: 'PUT /auth/v1/user', fields: ['current_password'] },
      { route: 'POST /auth/signin', fields: ['password'] },
      { route: 'PATCH /auth/me', fields: ['currentPassword'] },
      { route: 'DELETE /auth/me', fields: ['password'] },
    ],
    limits: [
      { per: 'network', setting: 'AUTH_ADDRESS_LIMIT', seconds: quarter },
      { per: 'account and network', setting: 'AUTH_ACCOUNT_LIMIT', seconds: quarter },
      { per: 'account', setting: 'AUTH_ACCOUNT_TOTAL_LIMIT', seconds: quarter },
    ],
  },
  factorCode: {
    what: 'The code of an authenticator app, of which three are valid at a time, or of a message to a phone factor; beside a session of the account',
    bits: 18,
    stored:
      'mfa_factors.secret: 160 bits, as they are, because each code is computed from them; mfa_challenges.otp_code: HMAC',
    lifetime: '30 s; GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION',
    doors: [{ route: verifyFactor, fields: ['code'] }],
    limits: factorLimits,
  },
  recoveryCode: {
    what: 'A code that replaces a lost second factor, beside a session of the account',
    bits: 80,
    stored: 'mfa_recovery_codes.code_hash: SHA-256 of user and code',
    lifetime: 'until it is used or replaced',
    doors: [{ route: verifyFactor, fields: ['code'] }],
    limits: factorLimits,
  },
  passkey: {
    what: 'The signature of a passkey',
    bits: 128,
    stored:
      'webauthn_credentials.public_key: the public key. The private key does not leave the authenticator and its backups',
    lifetime: 'GOTRUE_WEBAUTHN_CHALLENGE_EXPIRY_DURATION, once',
    doors: [{ route: 'POST /auth/v1/passkeys/authentication/verify', fields: ['credential'] }],
    // Only wrong ones are refused: see `state`.
    limits: [{ per: 'network', setting: 'GOTRUE_RATE_LIMIT_PASSKEY', seconds: fiveMinutes }],
  },
  securityKey: {
    what: 'The signature of a security key, beside a session of the account',
    bits: 128,
    stored: 'mfa_factors.web_authn_credential: the public key',
    lifetime: 'GOTRUE_MFA_CHALLENGE_EXPIRY_DURATION, once',
    doors: [{ route: verifyFactor, fields: ['webauthn'] }],
    limits: factorLimits,
  },
  refreshToken: {
    what: 'A refresh token, with the form of those of GoTrue',
    bits: 62,
    stored: 'refresh_tokens.token: as it is, as in GoTrue, whose sessions can be taken over',
    lifetime: 'until it is used; GOTRUE_SESSIONS_TIMEBOX, GOTRUE_SESSIONS_INACTIVITY_TIMEOUT',
    doors: [
      { route: 'POST /auth/v1/token', fields: ['refresh_token'] },
      // Beside the id of its client, and the secret of one that has a secret.
      { route: 'POST /auth/v1/oauth/token', fields: ['refresh_token'] },
    ],
    limits: [tokenLimit],
  },
  authCode: {
    what: 'The code of a redirect (PKCE), and the verifier that only the client knows',
    bits: 122,
    stored:
      'flow_state.auth_code: as it is; useless without the verifier, of which there is a SHA-256, if the client has asked for one',
    lifetime: 'GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION',
    doors: [{ route: 'POST /auth/v1/token', fields: ['auth_code', 'code_verifier'] }],
    limits: [tokenLimit],
  },
  oauthCode: {
    what: 'The code that an OAuth client gets, and the verifier that only the client knows',
    bits: 256,
    stored:
      'oauth_authorizations.authorization_code: SHA-256; code_challenge: SHA-256, if the client has asked for one',
    lifetime: 'GOTRUE_OAUTH_SERVER_AUTHORIZATION_TTL, once; until the session that approved it ends',
    doors: [{ route: 'POST /auth/v1/oauth/token', fields: ['code', 'code_verifier'] }],
    limits: [tokenLimit],
  },
  oauthClientSecret: {
    what: 'The secret of an OAuth client, in the body or as password of HTTP Basic',
    bits: 256,
    stored: 'oauth_clients.client_secret_hash: SHA-256',
    lifetime: 'until it is replaced or the client is deleted',
    doors: [{ route: 'POST /auth/v1/oauth/token', fields: ['client_secret'] }],
    limits: [tokenLimit],
  },
  state: {
    what: 'The state of a sign-in at a provider; the code beside it is the secret of the provider, which checks it',
    bits: 122,
    stored: 'flow_state.id: as it is; it is in the URL of the provider',
    lifetime: 'GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION, once',
    doors: [
      { route: 'GET /auth/v1/callback', fields: ['state', 'code'] },
      { route: 'POST /auth/v1/callback', fields: ['state', 'code'] },
    ],
    // Only wrong ones are refused: a page of another site must not be able to lock out the sign-ins of its visitors.
    limits: [verifyLimit],
  },
  idToken: {
    what: 'The ID token of a provider, with its nonce and access token',
    bits: 256,
    stored: 'nowhere: the provider signs it',
    lifetime: 'its claim `exp`',
    doors: [{ route: 'POST /auth/v1/token', fields: ['id_token', 'nonce', 'access_token'] }],
    limits: [tokenLimit],
  },
  sessionCookie: {
    what: 'A session cookie, also where `/auth/tokens` exchanges it',
    bits: 256,
    stored: 'sessions: SHA-256 of the id; the cookie is signed, so that forged ones cost no look-up',
    lifetime: '14 days, at most 90',
    doors: [{ route: '*', fields: ['Cookie'] }],
    limits: [],
  },
  accessToken: {
    what: 'An access token, also where `/auth/session` exchanges it',
    bits: 256,
    stored: signature,
    lifetime: 'GOTRUE_JWT_EXP',
    doors: [
      { route: '*', fields: ['Authorization'] },
      { route: 'POST /console/api/session', fields: ['access_token'] },
    ],
    limits: [],
  },
  apiKey: {
    what: 'An API key',
    bits: 256,
    stored: 'SHA-256',
    lifetime: 'until it expires or is revoked',
    doors: [
      { route: '*', fields: ['apikey', 'Authorization'] },
      { route: 'POST /console/api/session', fields: ['key'] },
    ],
    limits: [],
  },
  consoleLink: {
    what: 'The code of a link that opens the console',
    bits: 256,
    stored: 'console_sessions.token_hash: SHA-256',
    lifetime: 'an hour, once',
    doors: [{ route: 'POST /console/api/session', fields: ['code'] }],
    limits: [],
  },
  consoleCookie: {
    what: 'The cookie of the console, with the header that is derived from it',
    bits: 256,
    stored: 'console_sessions.token_hash: SHA-256',
    lifetime: '12 hours, at most as long as the key or the session of the account',
    doors: [{ route: '*', fields: ['Cookie', 'X-Console-Token'] }],
    limits: [],
  },
  signedUrl: {
    what: 'The token of a signed URL, or of an upload',
    bits: 256,
    stored: signature,
    lifetime: 'as its caller asks for',
    doors: [
      { route: 'GET /storage/v1/object/sign/{bucket}/{name}', fields: ['token'] },
      { route: 'GET /storage/v1/render/image/sign/{bucket}/{name}', fields: ['token'] },
      { route: 'PUT /storage/v1/object/upload/sign/{bucket}/{name}', fields: ['token'] },
      { route: 'POST /storage/v1/upload/resumable/sign', fields: ['X-Signature'] },
      { route: 'PATCH /storage/v1/upload/resumable/sign/{id}', fields: ['X-Signature'] },
      { route: 'DELETE /storage/v1/upload/resumable/sign/{id}', fields: ['X-Signature'] },
    ],
    limits: [],
  },
  writeToken: {
    what: 'The token that confirms a write of an agent at /mcp, beside its key or token',
    bits: 128,
    stored: signature,
    lifetime: '120 seconds, for one write',
    doors: [],
    limits: [],
  },
} as const satisfies Readonly<Record<string, Secret>>

export type SecretName = keyof typeof secrets

/**
 * Names of members of bodies and of parameters that are secrets. A route of `/auth/v1` that takes one does not compile, or does
 * not start, without the names of the secrets and a limit.
 */
export const secretFields = [
  'token',
  'token_hash',
  'invite_token',
  'code',
  'nonce',
  'state',
  'current_password',
  'refresh_token',
  'auth_code',
  'code_verifier',
  'id_token',
  'client_secret',
] as const

export type SecretField = (typeof secretFields)[number]
