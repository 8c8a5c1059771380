// Providers of the settings with which users cannot sign in, or soon cannot.
import type { Config } from '../../config/config.ts'
import { applePrivateKey, hasAppleKey, secretExpiry } from '../../services/auth/oauth/apple.ts'
import type { DoctorFinding } from './finding.ts'

/** Days before the end of Apple's secret from which on it is a finding. */
const notice = 30
const day = 86_400_000

/** @param now milliseconds since 1970 */
export function providerFindings({ authProviders }: Pick<Config, 'authProviders'>, now: number): DoctorFinding[] {
  const apple = authProviders.get('apple')
  if (apple?.enabled !== true) return []
  const subject = `GOTRUE_EXTERNAL_APPLE_${hasAppleKey(apple) ? 'PRIVATE_KEY' : 'SECRET'}`
  const common = { area: 'settings', subject } as const
  if (hasAppleKey(apple)) {
    const problem = problemOf(apple.privateKey)
    if (problem === undefined) return []
    return [
      {
        ...common,
        code: 'apple_key_invalid',
        level: 'ERROR',
        what: `It ${problem}.`,
        why: 'No one can sign in with Apple: the secret of each sign-in is signed with it.',
        advice: 'Set it to the contents of the file that Apple gave you, line breaks included or written as \\n.',
      },
    ]
  }
  const end = secretExpiry(apple.secret)
  if (end === undefined || end - now > notice * day) return []
  const date = new Date(end).toISOString().slice(0, 10)
  return [
    {
      ...common,
      code: 'apple_secret_expires',
      level: end <= now ? 'ERROR' : 'WARN',
      what: end <= now ? `It has expired on ${date}.` : `It expires on ${date}.`,
      why: 'Apple then refuses every sign-in: its secrets are valid for six months at most.',
      advice:
        'Sign a new one, or set GOTRUE_EXTERNAL_APPLE_KEY_ID, _TEAM_ID and _PRIVATE_KEY, of which each sign-in makes its own.',
    },
  ]
}

function problemOf(key: string): string | undefined {
  try {
    applePrivateKey(key)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
