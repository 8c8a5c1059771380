// What a server without its secrets cannot do, said when it starts.
import type { Config } from './config.ts'

type Settings = Pick<Config, 'sessionSecrets' | 'jwtSecret' | 'restBasePath'>

/** A sentence for each secret that is missing, with the routes that cannot work without it. */
export function missingSecrets({ sessionSecrets, jwtSecret, restBasePath }: Settings): string[] {
  const missing: string[] = []
  if (sessionSecrets.length === 0) {
    missing.push('SESSION_SECRETS is not set: all routes of /auth and /report answer 503')
  }
  if (jwtSecret === null) {
    missing.push(`PGRST_JWT_SECRET is not set: POST /auth/token answers 503, and ${restBasePath} refuses every JWT`)
  }
  return missing
}
