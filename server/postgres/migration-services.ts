// Migrations that belong to services, which a server may leave out.

/** Names of services. Undefined: all of them. */
export type ChosenServices = readonly string[] | undefined

const header = /^-- Only (with|without) the services: ([a-z, ]+)\n/

/**
 * Whether a migration is for the chosen services, according to its first line: `-- Only with the services: a, b` is for
 * servers with one of them, `-- Only without the services: a, b` for servers with none of them, others are for all.
 */
export function isForServices(sql: string, services: ChosenServices): boolean {
  const [, wish, names = ''] = header.exec(sql) ?? []
  if (wish === undefined) return true
  const hasOne = services === undefined || names.split(', ').some((name) => services.includes(name))
  return hasOne === (wish === 'with')
}
