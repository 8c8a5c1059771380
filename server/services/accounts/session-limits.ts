// The limits of sessions by the settings, for sessions with cookies and with tokens.
import type { AuthSettings } from '../auth/settings.ts'

/** Seconds; null for no limit. */
export type SessionLimits = {
  /** After which a session ends in any case. */
  readonly timebox: number | null
  /** After which a session that is not used ends. */
  readonly inactivity: number | null
  /** After which a session ends that has not used the second factor of its user. */
  readonly lowAal: number | null
  /** Whether a session ends when its user has a newer one. */
  readonly singlePerUser: boolean
}

/** The settings that limit sessions. */
export type LimitSettings = Pick<
  AuthSettings,
  'authSessionsTimebox' | 'authSessionsInactivityTimeout' | 'authSessionsAllowLowAal' | 'authSessionsSinglePerUser'
>

export const sessionLimits = (settings: LimitSettings): SessionLimits => ({
  timebox: settings.authSessionsTimebox,
  inactivity: settings.authSessionsInactivityTimeout,
  lowAal: settings.authSessionsAllowLowAal,
  singlePerUser: settings.authSessionsSinglePerUser,
})

export const noLimits: SessionLimits = { timebox: null, inactivity: null, lowAal: null, singlePerUser: false }

/** The parameter `limits` of functions in the schema `auth`; null without limits, which costs the database least. */
export function limitsParameter({ timebox, inactivity, lowAal, singlePerUser }: SessionLimits): string | null {
  if (timebox === null && inactivity === null && lowAal === null && !singlePerUser) return null
  return JSON.stringify({ timebox, inactivity, low_aal: lowAal, single_per_user: singlePerUser })
}
