// The version of the program, from its package, and the version of PostgREST whose behaviour it has.
import { readFileSync } from 'node:fs'

const file = new URL('../../package.json', import.meta.url)

export const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }

export const postgrestVersion = '16.2'

/** Value of the header `Server`: PostgREST's own, then this program's. */
export const serverName = `postgrest/${postgrestVersion} rowhouse/${version}`

/** `fallback_application_name` of connections, with PostgREST's words for the same. */
export const applicationName = `PostgREST ${postgrestVersion} rowhouse/${version}`
