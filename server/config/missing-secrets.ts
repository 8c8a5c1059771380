// Warnings about missing secrets at the start.
import type { Config } from './config.ts'

type Settings = Pick<Config, 'sessionSecrets' | 'jwtSecret' | 'restBasePath'>

/** A warning for each missing secret, with the routes that do not work without it. */
export function missingSecrets({ sessionSecrets, jwtSecret, restBasePath }: Settings): string[] {
  const missing: string[] = []
  if (sessionSecrets.length === 0) {
    missing.push('SESSION_SECRETS is not set: all routes of /auth and /report respond with 503')
  }
  if (jwtSecret === null) {
    missing.push(
      `PGRST_JWT_SECRET is not set: POST /auth/token responds with 503, and ${restBasePath} rejects every JWT`,
    )
  }
  return missing
}
