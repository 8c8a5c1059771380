// Sessions of the console that commands add to the database: as a link that a person opens, or for the command itself.
import { createHash, randomBytes } from 'node:crypto'

/** Seconds in which a link can be opened, and after which a session ends whose command was killed. */
const lifetimes = { code: 60 * 60, session: 60 }

/** Bytes of codes and cookies, as the console makes them. */
const secretBytes = 32

type Query = (text: string, values: unknown[]) => Promise<unknown>

const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** Adds a session, or the code for one. Returns its secret. */
async function addSession(query: Query, kind: 'code' | 'session', actor: string): Promise<string> {
  const secret = randomBytes(secretBytes).toString('base64url')
  await query(
    `insert into rowhouse.console_sessions (token_hash, is_code, actor, expires_at)
     values ($1, $2, $3, now() + make_interval(secs => $4))`,
    [hashOf(secret), kind === 'code', actor, lifetimes[kind]],
  )
  return secret
}

/**
 * The link that opens the console: with a code that is exchanged for a session once.
 *
 * @param query runs statements as the owner of the schemas
 * @param url of the server, without a slash at the end
 * @param actor who the session is of, for people
 */
export const createConsoleLink = async (query: Query, url: string, actor: string): Promise<string> =>
  `${url}/console/#code=${await addSession(query, 'code', actor)}`

/**
 * Lends `use` the headers of a session, which ends after it.
 *
 * @param query runs statements as the owner of the schemas
 * @param actor who the session is of, for people
 */
export async function withConsoleSession<T>(
  query: Query,
  actor: string,
  use: (headers: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  const { requestTokenOf } = await import('../../services/console/console-sessions.ts')
  const cookie = await addSession(query, 'session', actor)
  try {
    // The server reads one of them: which one depends on its address.
    return await use({
      Cookie: `console=${cookie}; __Host-console=${cookie}`,
      'X-Console-Token': requestTokenOf(cookie),
    })
  } finally {
    await query('delete from rowhouse.console_sessions where token_hash = $1', [hashOf(cookie)])
  }
}
