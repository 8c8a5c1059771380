// Quotes identifiers and literals for SQL. No other file does.
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html

/** Text in Postgres cannot contain NUL. Truncates at the first one, as libpq does. */
export function cutAtNul(text: string): string {
  const end = text.indexOf('\0')
  return end === -1 ? text : text.slice(0, end)
}

/** A quoted identifier. Accepts any name; Postgres reports names that do not exist. */
export const identifier = (name: string): string => `"${cutAtNul(name).replaceAll('"', '""')}"`

/** A string literal. Only for names from the system catalog; request values are always parameters. */
export function literal(text: string): string {
  const quoted = `'${cutAtNul(text).replaceAll("'", "''")}'`
  return quoted.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted
}
