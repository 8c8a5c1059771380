// The version of the program, and the version of PostgREST that it implements. Constants, so that importing them reads no
// file.

/** Must equal the version in package.json. */
export const version = '0.1.0'

export const postgrestVersion = '16.2'

/** Value of the header `Server`: PostgREST's product and version, then this program's. */
export const serverName = `postgrest/${postgrestVersion} rowhouse/${version}`

/** `fallback_application_name` of connections, which begins like PostgREST's. */
export const applicationName = `PostgREST ${postgrestVersion} rowhouse/${version}`
