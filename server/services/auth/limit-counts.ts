// Counts the rate limits of `/auth/v1` in the database, so that all processes share them.
import type { IncomingMessage } from 'node:http'
import { clientNetwork, limitedNetworks, networkOf } from '../../http/client-address.ts'
import { guessCounter } from '../accounts/attempt-limit.ts'
import type { Limit, Limits } from '../limits.ts'
import { authErrors, type AuthError } from './auth-error.ts'
import type { AuthLimits, ClientLimit, ServiceLimit } from './auth-limits.ts'
import { codeGuesses } from '../secrets.ts'
import type { AuthSettings, Rate } from './settings.ts'

export type LimitOptions = {
  readonly settings: () => AuthSettings
  readonly limits: Limits
  readonly trustedProxies: number
}

const fiveMinutes = 300

/** The setting of a limit, and its value. A limit of 0 events is no limit. */
type NamedRate = { readonly variable: string; readonly rate: Rate }

const clientLimits: Readonly<Record<ClientLimit, (settings: AuthSettings) => NamedRate>> = {
  otp: ({ authRateLimitOtp: events }) => limit('GOTRUE_RATE_LIMIT_OTP', events, fiveMinutes),
  verify: ({ authRateLimitVerify: events }) => limit('GOTRUE_RATE_LIMIT_VERIFY', events, fiveMinutes),
  token_refresh: ({ authRateLimitTokenRefresh: events }) =>
    limit('GOTRUE_RATE_LIMIT_TOKEN_REFRESH', events, fiveMinutes),
  anonymous_users: ({ authRateLimitAnonymousUsers: events }) =>
    limit('GOTRUE_RATE_LIMIT_ANONYMOUS_USERS', events, 3600),
  sso: ({ authRateLimitSso: events }) => limit('GOTRUE_RATE_LIMIT_SSO', events, fiveMinutes),
  web3: ({ authRateLimitWeb3: events }) => limit('GOTRUE_RATE_LIMIT_WEB3', events, fiveMinutes),
  passkey: ({ authRateLimitPasskey: events }) => limit('GOTRUE_RATE_LIMIT_PASSKEY', events, fiveMinutes),
  oauth_client_register: ({ authRateLimitOAuthDynamicClientRegister: events }) =>
    limit('GOTRUE_RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER', events, fiveMinutes),
  mfa_challenge_and_verify: ({ authMfaRateLimitChallengeAndVerify: events }) =>
    limit('GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY', events, 60),
}

const serviceLimits: Readonly<Record<ServiceLimit, (settings: AuthSettings) => NamedRate>> = {
  email_sent: ({ authRateLimitEmailSent: rate }) => ({ variable: 'GOTRUE_RATE_LIMIT_EMAIL_SENT', rate }),
  sms_sent: ({ authRateLimitSmsSent: rate }) => ({ variable: 'GOTRUE_RATE_LIMIT_SMS_SENT', rate }),
}

const sentCodes = { email_sent: 'over_email_send_rate_limit', sms_sent: 'over_sms_send_rate_limit' } as const

const limit = (variable: string, events: number, period: number): NamedRate => ({ variable, rate: { events, period } })

/** `30 in 5 minutes` */
function inWords({ events, period }: Rate): string {
  const units = [
    [3600, 'hour'],
    [60, 'minute'],
    [1, 'second'],
  ] as const
  const [seconds, unit] = units.find(([length]) => period % length === 0) ?? ([1, 'second'] as const)
  const number = period / seconds
  return `${events} in ${number === 1 ? (unit === 'hour' ? 'an' : 'a') : number} ${unit}${number === 1 ? '' : 's'}`
}

/**
 * The network of a client for the limits; undefined for a client that is not limited: one on the same machine, when
 * neither a header nor proxies are configured, because that may be a proxy or a server that serves many users.
 */
function limitedClient(request: IncomingMessage, header: string | null, trustedProxies: number): string | undefined {
  const given = header === null ? undefined : request.headers[header.toLowerCase()]
  const [first = ''] = (typeof given === 'string' ? given : '').split(',', 1)
  if (first.trim() !== '') return networkOf(first.trim())
  const network = clientNetwork(request, trustedProxies)
  const isLocal = /^(?:127\.|0:0:0:0$|local$)/.test(network)
  return isLocal && trustedProxies === 0 ? undefined : network
}

/**
 * As in GoTrue, each route that may send mails has a count of its own, and challenges of new passkeys do not use up those of
 * sign-ins. All other limits are for guesses or for accounts, of which all routes together permit only so many.
 */
const perRoute: ReadonlySet<ClientLimit> = new Set(['otp', 'passkey'])

const limitOf = (name: string, { events, period }: Rate): Limit => ({
  name: `auth-${name}`,
  events: Math.max(1, Math.ceil(events)),
  period,
})

/** The subject of a limit of the whole service. */
const everyone = ['all']

/** How many of the notices one account may get: enough for the changes of a session, and far from all. */
const noticesOfAccount = ({ events, period }: Rate): Rate => ({
  events: Math.max(3, Math.ceil(events / 10)),
  period,
})

/** The limits of one process. */
export function createAuthLimits({ settings, limits, trustedProxies }: LimitOptions): AuthLimits {
  /** Counts, and returns the seconds until the next attempt; undefined below the limit. A limit of 0 events is no limit. */
  const count = async (
    name: string,
    rate: Rate,
    subject: readonly string[],
    number = 1,
  ): Promise<number | undefined> => (rate.events === 0 ? undefined : limits.count(limitOf(name, rate), subject, number))

  function sentTooMany(name: ServiceLimit, seconds: number): AuthError {
    const { variable, rate } = serviceLimits[name](settings())
    const kind = name === 'email_sent' ? 'email' : 'sms'
    const message = `${kind} rate limit exceeded: ${variable} allows ${inWords(rate)}`
    return authErrors.overLimit(sentCodes[name], message, seconds)
  }

  /** Counts a request for each network of its client, unless the client is not limited. */
  async function countClient(name: ClientLimit, scope: readonly string[], request: IncomingMessage): Promise<void> {
    const client = limitedClient(request, settings().authRateLimitHeader, trustedProxies)
    if (client === undefined) return
    const { variable, rate } = clientLimits[name](settings())
    let seconds: number | undefined
    // The smallest network comes first: once it is over its limit, it does not use up those of the larger ones.
    for (const network of limitedNetworks(client)) {
      const shared = { ...rate, events: rate.events * network.share }
      seconds ??= await count(name, shared, [network.name, ...scope])
    }
    if (seconds === undefined) return
    throw authErrors.overLimit(
      'over_request_rate_limit',
      `Request rate limit reached: ${variable} allows ${inWords(rate)}`,
      seconds,
    )
  }

  const guessCode = guessCounter(limits, 'code', codeGuesses)

  return {
    countRequest: (name, route, request) => countClient(name, perRoute.has(name) ? [route] : [], request),
    countWrong: (name, secret, request) => countClient(name, ['wrong', secret], request),
    guessCode: (account, request) => guessCode(account, clientNetwork(request, trustedProxies)),
    countSent: async (name, number = 1) => {
      const { rate } = serviceLimits[name](settings())
      const seconds = rate.events === 0 ? rate.period : await count(name, rate, everyone, number)
      if (seconds !== undefined) throw sentTooMany(name, seconds)
    },
    takeBackSent: async (name, number = 1) => {
      const { rate } = serviceLimits[name](settings())
      if (rate.events > 0) await limits.giveBack(limitOf(name, rate), everyone, number)
    },
    countNotice: async (userId) => {
      const { variable, rate } = serviceLimits.email_sent(settings())
      if (rate.events === 0) throw sentTooMany('email_sent', rate.period)
      // The account's own limit comes first: once it is reached, the account uses up nothing of the others'.
      const own = noticesOfAccount(rate)
      const ownSeconds = await count('notice_of_account', own, [userId])
      if (ownSeconds !== undefined) {
        const message = `${variable} allows ${inWords(own)} about changes of one account`
        throw authErrors.overLimit(sentCodes.email_sent, message, ownSeconds)
      }
      const seconds = await count('notice_sent', rate, everyone)
      if (seconds !== undefined) throw sentTooMany('email_sent', seconds)
    },
    countGuess: async (subject, max, period) => {
      const seconds = await count('guess', { events: max, period }, subject)
      if (seconds !== undefined) {
        throw authErrors.overLimit('over_request_rate_limit', 'Too many wrong codes: try again later', seconds)
      }
    },
  }
}
