// A session of the console for one command, which asks the running server what only its process knows.
import { createHash, randomBytes } from 'node:crypto'
import { requestTokenOf } from '../../services/console/console-sessions.ts'

/** Seconds after which a session ends whose command was killed. */
const lifetime = 60

/** Bytes of a cookie, as the console makes them. */
const cookieBytes = 32

/**
 * Lends `use` the headers of a session, which ends after it.
 *
 * @param query runs statements as the owner of the schemas
 * @param actor who the session is of, for people
 */
export async function withConsoleSession<T>(
  query: (text: string, values: unknown[]) => Promise<unknown>,
  actor: string,
  use: (headers: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  const cookie = randomBytes(cookieBytes).toString('base64url')
  const hash = createHash('sha256').update(cookie).digest()
  await query(
    `insert into rowhouse.console_sessions (token_hash, is_code, actor, expires_at)
     values ($1, false, $2, now() + make_interval(secs => $3))`,
    [hash, actor, lifetime],
  )
  try {
    // The server reads one of them: which one depends on its address.
    return await use({
      Cookie: `console=${cookie}; __Host-console=${cookie}`,
      'X-Console-Token': requestTokenOf(cookie),
    })
  } finally {
    await query('delete from rowhouse.console_sessions where token_hash = $1', [hash])
  }
}
