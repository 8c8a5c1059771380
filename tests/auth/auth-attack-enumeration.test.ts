// Neither the limits nor the work of a request reveal whether an address has an account.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { HashProcesses } from '../../server/services/accounts/hash-processes.ts'
import { startApplication } from '../support/application.ts'
import { askAuth, codeOf, newAddress, password, type AskAuth, type AuthAnswer, type Json } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { mailSettings } from '../support/mailing-service.ts'
import { countRoundTrips } from '../support/round-trips.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const counter = await countRoundTrips(t, database.authenticatorUri)
const settings = { ...mailSettings(await startMailSink(t)), PGRST_DB_CHANNEL_ENABLED: 'false' }
const start = async (env: Environment = {}): Promise<AskAuth> =>
  askAuth((await startApplication(t, counter.uri, { ...settings, ...env }, { passwordHasher: undefined })).url)

/** A new account. */
async function account(isConfirmed: boolean): Promise<string> {
  const email = newAddress()
  const { rowCount } = await database.query(
    `insert into auth.users (id, email, email_confirmed_at) values (gen_random_uuid(), $1, $2)`,
    [email, isConfirmed ? new Date() : null],
  )
  if (rowCount !== 1) throw new Error('no account')
  return email
}

/** Requests for mails, and whether the accounts that get one have a confirmed address. */
const routes: readonly (readonly [path: string, body: Json, isConfirmed: boolean])[] = [
  ['/otp', {}, true],
  ['/magiclink', {}, true],
  ['/signup', { password }, true],
  ['/recover', {}, true],
  ['/resend', { type: 'signup' }, false],
]

/** What a client can compare: the seconds until the next attempt are given relative to `Retry-After`. */
function visible(answer: AuthAnswer): unknown {
  const retryAfter = Number(answer.headers.get('retry-after') ?? 0)
  const message = String(answer.body.msg).replace(/after (\d+) seconds/, (_, left: string) => {
    return `after ${retryAfter - Number(left)} seconds less`
  })
  return [answer.status, codeOf(answer), message, [...answer.headers.keys()]]
}

t.test('a second request a moment later', async (t) => {
  const ask = await start({ GOTRUE_SMTP_MAX_FREQUENCY: '1m' })
  for (const [path, body, isConfirmed] of routes) {
    const second = async (email: string): Promise<unknown> => {
      const answer = await ask('POST', path, { body: { ...body, email } })
      t.equal(answer.status, 200, `${path} ${answer.text}`)
      return visible(await ask('POST', path, { body: { ...body, email } }))
    }
    const [known, unknown] = [await second(await account(isConfirmed)), await second(newAddress())]
    t.match(known, [429, 'over_email_send_rate_limit'], path)
    t.strictSame(known, unknown, path)
  }
})

t.test('when no more mails may be sent', async (t) => {
  const ask = await start({ GOTRUE_RATE_LIMIT_EMAIL_SENT: '1/1h' })
  await ask('POST', '/otp', { body: { email: newAddress() } })
  for (const [path, body, isConfirmed] of routes) {
    const refused = async (email: string) => visible(await ask('POST', path, { body: { ...body, email } }))
    const [known, unknown] = [await refused(await account(isConfirmed)), await refused(newAddress())]
    t.match(known, [429, 'over_email_send_rate_limit', /GOTRUE_RATE_LIMIT_EMAIL_SENT allows 1 in an hour/], path)
    t.strictSame(known, unknown, path)
  }
})

/** What a request does before its response: round trips to the database, and password hashes. */
type Work = { readonly trips: number; readonly hashes: number }

const hash = Reflect.get(HashProcesses.prototype, 'hash')
const hashing = t.capture(HashProcesses.prototype, 'hash', hash)
const ask = await start()
for (const [path, body, isConfirmed] of routes) {
  void t.test(`the work of ${path}`, async (t) => {
    /** The least of several requests: others may open a connection. */
    const work = async (next: () => Promise<string>): Promise<Work> => {
      const found: Work[] = []
      for (let request = 0; request < 4; request++) {
        const email = await next()
        // Mails of the requests before are sent after their responses.
        do {
          counter.take()
          await pause(20)
        } while (counter.take() > 0)
        hashing()
        const answer = await ask('POST', path, { body: { ...body, email } satisfies Json })
        t.equal(answer.status, 200, answer.text)
        found.push({ trips: counter.take(), hashes: hashing().length })
      }
      return {
        trips: Math.min(...found.map(({ trips }) => trips)),
        hashes: Math.min(...found.map(({ hashes }) => hashes)),
      }
    }
    // The first requests also load code.
    const known = await work(() => account(isConfirmed))
    const unknown = await work(() => Promise.resolve(newAddress()))
    t.strictSame([known.hashes, unknown.hashes], path === '/signup' ? [1, 1] : [0, 0], 'password hashes')
    t.ok(Math.abs(known.trips - unknown.trips) <= 1, `round trips: ${known.trips}, ${unknown.trips}`)
  })
}
