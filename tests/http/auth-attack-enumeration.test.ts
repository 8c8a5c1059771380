// Neither the limits nor the time of a response reveal whether an address has an account.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { startApplication } from '../support/application.ts'
import { askAuth, codeOf, newAddress, password, type AskAuth, type AuthAnswer, type Json } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { mailSettings } from '../support/mailing-service.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { figures, quantile } from '../support/timings.ts'

t.setTimeout(600_000)
const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const counter = await countRoundTrips(t, database.authenticatorUri)
const settings = { ...mailSettings(await startMailSink(t)), PGRST_DB_CHANNEL_ENABLED: 'false' }
const start = async (env: Environment = {}): Promise<AskAuth> =>
  askAuth((await startApplication(t, counter.uri, { ...settings, ...env })).url)

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

/**
 * The bound of the ratio of both medians. Work that only one side does would exceed it: a password hash takes several
 * times as long as all other steps of a request, and a mail server longer.
 *
 * Load does not: the requests for known and unknown addresses alternate, so that it delays both sides alike, and the
 * median ignores single delays. If chance moves the medians apart nevertheless, further requests bring them together,
 * while a difference between the sides remains.
 */
const bound = 2.5
const [pairs, rounds] = [12, 5]

type Times = { readonly known: number[]; readonly unknown: number[] }

const ratioOf = ({ known, unknown }: Times): number => quantile(unknown, 0.5) / quantile(known, 0.5)
const isWithin = (ratio: number): boolean => ratio > 1 / bound && ratio < bound

const ask = await start()
for (const [path, body, isConfirmed] of routes) {
  void t.test(`the time of ${path}`, async (t) => {
    const time = async (email: string): Promise<number> => {
      const start = performance.now()
      const answer = await ask('POST', path, { body: { ...body, email } satisfies Json })
      const duration = performance.now() - start
      t.equal(answer.status, 200, answer.text)
      return duration
    }
    /** The fewest of several requests: others may open a connection. */
    const roundTrips = async (next: () => Promise<string>): Promise<number> => {
      const counts: number[] = []
      for (let request = 0; request < 4; request++) {
        const email = await next()
        // Mails of the requests before are sent after their responses.
        do {
          counter.take()
          await pause(20)
        } while (counter.take() > 0)
        await time(email)
        counts.push(counter.take())
      }
      return Math.min(...counts)
    }
    const known = (): Promise<string> => account(isConfirmed)
    const unknown = (): Promise<string> => Promise.resolve(newAddress())
    // The first requests also load code.
    const trips = [await roundTrips(known), await roundTrips(unknown)] as const
    t.ok(Math.abs(trips[0] - trips[1]) <= 1, `round trips to the database: ${trips.join(', ')}`)
    const times: Times = { known: [], unknown: [] }
    for (let round = 0; round < rounds; round++) {
      for (let pair = 0; pair < pairs; pair++) {
        times.known.push(await time(await known()))
        times.unknown.push(await time(await unknown()))
      }
      if (isWithin(ratioOf(times))) break
    }
    const ratio = ratioOf(times).toFixed(2)
    t.comment(`known: ${figures(times.known)}; unknown: ${figures(times.unknown)}`)
    t.ok(isWithin(ratioOf(times)), `the ratio is ${ratio}`)
  })
}
