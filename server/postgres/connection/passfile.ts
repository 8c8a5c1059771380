// Reads passwords from the password file. https://www.postgresql.org/docs/current/libpq-pgpass.html
import { readFileSync, statSync } from 'node:fs'

export type PasswordRequest = {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/** Splits a line at colons. A backslash escapes a colon or a backslash. */
function fields(line: string): string[] {
  const all = ['']
  for (const [piece] of line.matchAll(/\\.|[\s\S]/g)) {
    if (piece === ':' && all.length < 5) all.push('')
    else all[all.length - 1] += piece.length === 2 ? piece.slice(1) : piece
  }
  return all
}

/** Undefined without a file or a matching entry. Like libpq, ignores a file that other users may read. */
export function passwordInFile(path: string, { host, port, database, user }: PasswordRequest): string | undefined {
  let text: string
  try {
    const { mode } = statSync(path)
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) return undefined
    text = readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
  // libpq looks up the default socket folder as localhost.
  const names = host.startsWith('/') ? [host, 'localhost'] : [host]
  for (const line of text.split(/\r?\n/)) {
    if (line === '' || line.startsWith('#')) continue
    const [forHost, forPort, forDatabase, forUser, password] = fields(line)
    const fits = (wanted: string | undefined, actual: readonly string[]): boolean =>
      wanted === '*' || (wanted !== undefined && actual.includes(wanted))
    const isIt =
      fits(forHost, names) && fits(forPort, [String(port)]) && fits(forDatabase, [database]) && fits(forUser, [user])
    if (isIt && password !== undefined) return password
  }
  return undefined
}
