// The link that opens the console: with a code that is exchanged for a session once.
import { createHash, randomBytes } from 'node:crypto'

/** Seconds in which a link can be opened. */
const lifetime = 60 * 60

/**
 * Adds the code of a new link.
 *
 * @param query runs statements as the owner of the schemas
 * @param url of the server, without a slash at the end
 */
export async function createConsoleLink(
  query: (text: string, values: unknown[]) => Promise<unknown>,
  url: string,
  actor: string,
): Promise<string> {
  const code = randomBytes(32).toString('base64url')
  await query(
    `insert into rowhouse.console_sessions (token_hash, is_code, actor, expires_at)
     values ($1, true, $2, now() + make_interval(secs => $3))`,
    [createHash('sha256').update(code).digest(), actor, lifetime],
  )
  return `${url}/console/#code=${code}`
}
