// Warnings about missing secrets at the start.
import type { Config } from './config.ts'

type Settings = Pick<Config, 'sessionSecrets' | 'jwtSecret' | 'restBasePath'> &
  Partial<Pick<Config, 'authJwtKeys' | 'authJwtSecret'>>

/** A warning for each missing secret, with the routes that do not work without it. */
export function missingSecrets(settings: Settings): string[] {
  const { sessionSecrets, jwtSecret, authJwtKeys = null, authJwtSecret = null, restBasePath } = settings
  const missing: string[] = []
  if (sessionSecrets.length === 0) {
    missing.push('SESSION_SECRETS is not set: all routes of /auth and /report respond with 503')
  }
  if (jwtSecret === null && authJwtKeys === null && authJwtSecret === null) {
    missing.push(
      `PGRST_JWT_SECRET is not set: POST /auth/token responds with 503, /auth/v1 cannot sign tokens, and ${restBasePath} rejects every JWT`,
    )
  }
  return missing
}
