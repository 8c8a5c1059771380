// The version of the program and the version of PostgREST whose behaviour it has. Constants, so that importing them reads
// no file.

/** As in package.json. */
export const version = '0.1.0'

export const postgrestVersion = '16.2'

/** Value of the header `Server`: PostgREST's own, then this program's. */
export const serverName = `postgrest/${postgrestVersion} rowhouse/${version}`

/** `fallback_application_name` of connections, with PostgREST's words for the same. */
export const applicationName = `PostgREST ${postgrestVersion} rowhouse/${version}`
