// The variables that functions see: those that Supabase sets, and those of the project.
// https://supabase.com/docs/guides/functions/secrets

/** Keys for the environment of functions. What the server does not know is undefined. */
export type FunctionKeys = {
  /** Acts as `anon`. */
  readonly anonKey: string | undefined
  /** Acts as `service_role`. */
  readonly serviceRoleKey: string | undefined
}

export type ServerVariables = FunctionKeys & {
  /** URL of this server. */
  readonly url: string
  /** Connection string; undefined if functions get none. */
  readonly databaseUrl: string | undefined
}

/** All variables of functions. Those of the server take precedence. */
export function functionEnvironment(
  { url, anonKey, serviceRoleKey, databaseUrl }: ServerVariables,
  project: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return {
    ...project,
    SUPABASE_URL: url,
    ...variable('SUPABASE_ANON_KEY', anonKey),
    ...variable('SUPABASE_SERVICE_ROLE_KEY', serviceRoleKey),
    // Newer projects read the keys by name, as JSON.
    ...variable('SUPABASE_PUBLISHABLE_KEYS', named(anonKey, 'sb_publishable_')),
    ...variable('SUPABASE_SECRET_KEYS', named(serviceRoleKey, 'sb_secret_')),
    // With which @supabase/server, in new functions of Supabase's command line, verifies the tokens of users.
    SUPABASE_JWKS_URL: `${url}/auth/v1/.well-known/jwks.json`,
    ...variable('SUPABASE_DB_URL', databaseUrl),
  }
}

const variable = (name: string, value: string | undefined): Readonly<Record<string, string>> =>
  value === undefined ? {} : { [name]: value }

const named = (key: string | undefined, prefix: string): string | undefined =>
  key?.startsWith(prefix) === true ? JSON.stringify({ default: key }) : undefined
