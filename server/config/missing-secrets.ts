// Secrets that are missing.
import type { Config } from './config.ts'
import type { MissingSetting } from './missing-setting.ts'

type Settings = Pick<Config, 'sessionSecrets' | 'jwtSecret' | 'restBasePath'> &
  Partial<Pick<Config, 'authJwtKeys' | 'authJwtSecret'>>

/** The missing secrets, with the routes that do not work without it. */
export function missingSecrets(settings: Settings): MissingSetting[] {
  const { sessionSecrets, jwtSecret, authJwtKeys = null, authJwtSecret = null, restBasePath } = settings
  const missing: MissingSetting[] = []
  if (sessionSecrets.length === 0) {
    missing.push({ name: 'SESSION_SECRETS', consequence: 'all routes of /auth and /report respond with 503' })
  }
  if (jwtSecret === null && authJwtKeys === null && authJwtSecret === null) {
    missing.push({
      name: 'PGRST_JWT_SECRET',
      consequence: `POST /auth/token responds with 503, /auth/v1 cannot sign tokens, and ${restBasePath} rejects every JWT`,
    })
  }
  return missing
}
