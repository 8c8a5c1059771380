// Sessions of accounts end with the right of the account, also before the schema cache is loaded after a start.
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { createConsoleSessions } from '../../../server/services/console/console-sessions.ts'
import type { ConsoleSettings } from '../../../server/services/console/console-settings.ts'

const row = { actor: 'ann@example.org', key_hash: null, auth_session: 'a', user_id: 'b' }

/** Finds a session while `auth.check_session` fails with an SQLSTATE, without a schema cache. */
function find(state: string | undefined): Promise<unknown> {
  const query = (text: string): Promise<unknown[]> =>
    text.includes('check_session') && state !== undefined
      ? Promise.reject(Object.assign(new Error(state), { code: state }))
      : Promise.resolve([row])
  const settings = { database: { query }, secureCookies: false, warn: () => undefined } as unknown as ConsoleSettings
  const request = new IncomingMessage(new Socket())
  request.headers.cookie = `console=${'a'.repeat(43)}`
  return createConsoleSessions(settings).find(request)
}

t.test('sessions of accounts', async (t) => {
  t.match(await find(undefined), { actor: row.actor })
  for (const state of ['PGRST', '42883', '3F000']) {
    await t.rejects(find(state), { message: 'You are not signed in to the console' }, state)
  }
  await t.rejects(find('57P01'), { code: '57P01' }, 'a failure of the database is not the end of a session')
})
