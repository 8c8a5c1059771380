// Mail servers that are slow, refuse, break off or are down, and mail bombs: no mail is sent twice, no response waits.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, newAddress, password, type AskAuth, type Json } from '../support/auth.ts'
import { createGate } from '../support/gate.ts'
import { mailSettings, startMailingService } from '../support/mailing-service.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const { database, sink, startAnother } = await startMailingService(t)
/** In front of the mail server. */
const gate = await createGate(t, sink.port)
await gate.open()
const { url, logged } = await startApplication(t, database.authenticatorUri, mailSettings(gate))
const ask = askAuth(url)

/** Asks for a mail to a new address, and returns the address. */
async function signUp(): Promise<string> {
  const email = newAddress()
  const { status, text } = await ask('POST', '/signup', { body: { email, password } })
  if (status !== 200) throw new Error(text)
  return email
}

const messages = (): readonly string[] => logged().map(({ msg }) => (typeof msg === 'string' ? msg : ''))
/** Waits for a warning about a mail to an address. */
const isWarned = (email: string, words: RegExp): Promise<boolean> =>
  until(() => messages().some((message) => message.includes(email) && words.test(message)))

t.test('a slow mail server delays no response', async (t) => {
  const release = sink.delayReplies()
  const addresses = await Promise.all(Array.from({ length: 15 }, signUp))
  t.ok(await until(() => sink.received.length >= 10), 'the server has not accepted any of ten mails yet')
  t.equal((await ask('POST', '/recover', { body: { email: addresses[0] } })).status, 200)
  release()
  for (const email of addresses) t.match(await sink.next(email), { to: email })
  t.ok(await until(() => sink.countTo(addresses[0] ?? '') === 2))
  t.equal(sink.received.length, 16, 'each mail is sent once')
})

t.test('a mail that is refused after its content is sent again, or reported', async (t) => {
  sink.refuse({ code: 451, at: 'data' })
  const later = await signUp()
  t.ok(await isWarned(later, /will be sent later.*refuses the mail.*451/))
  const { code } = await sink.next(later)
  t.equal((await ask('POST', '/verify', { body: { type: 'signup', email: later, token: code } })).status, 200)
  t.equal(sink.countTo(later), 1)
  sink.refuse({ code: 554, at: 'data' })
  const refused = await signUp()
  t.ok(await isWarned(refused, /was not sent.*refuses the mail.*554/))
  t.equal((await ask('POST', '/resend', { body: { type: 'signup', email: refused } })).status, 200)
  await sink.next(refused)
  t.equal(sink.countTo(refused), 1)
})

t.test('a mail is not sent again if the connection breaks before the server confirms it', async (t) => {
  const release = sink.delayReplies()
  const email = await signUp()
  t.ok(await until(() => sink.countTo(email) === 1))
  await gate.shut()
  release()
  t.ok(await isWarned(email, /was not sent\. The connection to the mail server .* broke before it confirmed the mail/))
  await gate.open()
  await sink.next(email)
  const other = await signUp()
  await sink.next(other)
  t.equal(sink.countTo(email), 1)
  t.notOk(messages().some((message) => message.includes(email) && message.includes('later')))
})

t.test('a mail server that is down gets each mail once when it is back', async (t) => {
  await gate.shut()
  const addresses = await Promise.all([signUp(), signUp(), signUp()])
  for (const email of addresses) t.ok(await isWarned(email, /will be sent later.*cannot be reached/))
  await gate.open()
  for (const email of addresses) {
    const { code } = await sink.next(email)
    t.equal((await ask('POST', '/verify', { body: { type: 'signup', email, token: code } })).status, 200)
    t.equal(sink.countTo(email), 1)
  }
})

type Mailing = readonly [path: string, body: Json]

/** Sends all requests at once, each from another network. */
const fromManyNetworks = (ask: AskAuth, requests: readonly Mailing[]) =>
  Promise.all(
    requests.map(([path, body], index) => ask('POST', path, { body, headers: { 'X-Client': `203.0.${index}.1` } })),
  )
const times = (count: number, items: readonly Mailing[]) => Array.from({ length: count }, () => items).flat()

t.test('one address gets few mails, however many networks ask for them', async (t) => {
  const bombed = await startAnother({ GOTRUE_RATE_LIMIT_HEADER: 'X-Client', GOTRUE_SMTP_MAX_FREQUENCY: '1h' })
  const known = newAddress()
  const token = await signToken({ role: 'service_role' })
  const user = { email: known, password, email_confirm: true }
  t.equal((await bombed.ask('POST', '/admin/users', { token, body: user })).status, 200)
  const unknown = newAddress()
  const answers = await fromManyNetworks(
    bombed.ask,
    [known, unknown].flatMap((email) =>
      times(8, [
        ['/otp', { email }],
        ['/magiclink', { email }],
        ['/recover', { email }],
        ['/signup', { email, password }],
        ['/resend', { type: 'signup', email }],
        ['/resend', { type: 'email_change', email }],
      ]),
    ),
  )
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200, 429]))
  // Sends the mails that are left.
  await bombed.service.stop()
  // The notice counts like a confirmation that is sent again, which may have been asked for first.
  t.ok([1, 2].includes(sink.countTo(known)), `a link, and a notice that there is an account: ${sink.countTo(known)}`)
  t.ok(sink.countTo(unknown) <= 2, `a confirmation and a link: ${sink.countTo(unknown)}`)
})

t.test('many addresses from many networks share the limit of all mails', async (t) => {
  const limited = await startAnother({ GOTRUE_RATE_LIMIT_HEADER: 'X-Client', GOTRUE_RATE_LIMIT_EMAIL_SENT: '3/1h' })
  // The mails of the tests above.
  await database.query('delete from rowhouse_limits.buckets')
  const before = sink.received.length
  const addresses = Array.from({ length: 30 }, newAddress)
  const answers = await fromManyNetworks(
    limited.ask,
    addresses.map((email, index) => (index % 2 ? ['/otp', { email }] : ['/signup', { email, password }])),
  )
  t.equal(answers.filter(({ status }) => status === 429).length, 27)
  await limited.service.stop()
  t.equal(sink.received.length - before, 3)
  const { rows } = await database.query(
    `select count(*)::integer as waiting from auth.one_time_tokens where relates_to = any ($1)`,
    [addresses],
  )
  t.strictSame(rows, [{ waiting: 3 }], 'no code waits for a mail that was not sent')
})
