// Names and literals in SQL text. This is the only place that quotes.
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html

/** Postgres's text ends at a NUL: what follows is left out, as libpq does. */
export function cutAtNul(text: string): string {
  const end = text.indexOf('\0')
  return end === -1 ? text : text.slice(0, end)
}

/** A quoted identifier. Any name is accepted; it names nothing when Postgres has no such object. */
export const identifier = (name: string): string => `"${cutAtNul(name).replaceAll('"', '""')}"`

/** A string constant. Only for names that come from the catalogue; values of a request are parameters. */
export function literal(text: string): string {
  const quoted = `'${cutAtNul(text).replaceAll("'", "''")}'`
  return quoted.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted
}
