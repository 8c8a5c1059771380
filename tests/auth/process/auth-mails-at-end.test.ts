// `rowhouse serve` ends while mails are on their way: they are sent or reported within a bounded time, none twice.
import t, { type Test } from 'tap'
import { askAuth, newAddress } from '../../support/auth.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { startMailSink, type MailSink } from '../../support/mail-sink.ts'
import { mailSettings } from '../../support/mailing-service.ts'
import { says, startProgram, type Program } from '../../support/program.ts'
import { until } from '../../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** More than are sent at the same time. */
const number = 25

/** A program with this many mails that its mail server has not accepted yet. */
async function withQueuedMails(t: Test): Promise<{ program: Program; sink: MailSink; release: () => void }> {
  const sink = await startMailSink(t)
  const program = startProgram(t, {
    ...mailSettings(sink),
    DATABASE_URL: database.authenticatorUri,
    PGRST_JWT_SECRET: 'a secret for tests, of more than 32 characters',
  })
  await program.line(says('listening'))
  const release = sink.delayReplies()
  const ask = askAuth(program.url())
  const answers = await Promise.all(
    Array.from({ length: number }, () => ask('POST', '/otp', { body: { email: newAddress() } })),
  )
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.ok(await until(() => sink.received.length >= 10))
  return { program, sink, release }
}

const addressesOf = ({ received }: MailSink): readonly string[] => received.map(({ to }) => to)

t.test('a slow mail server gets all mails', async (t) => {
  const { program, sink, release } = await withQueuedMails(t)
  program.kill('SIGTERM')
  await program.line(says('stopping'))
  release()
  t.equal(await program.ended, 0)
  t.equal(addressesOf(sink).length, number)
  t.equal(new Set(addressesOf(sink)).size, number, 'none twice')
  t.ok(program.logged().some(says('stopped')))
})

t.test('a mail server that does not respond is not waited for', async (t) => {
  const { program, sink } = await withQueuedMails(t)
  program.kill('SIGTERM')
  t.equal(await program.ended, 0)
  t.ok(addressesOf(sink).length <= 10, 'no further mail is begun')
  t.equal(new Set(addressesOf(sink)).size, addressesOf(sink).length, 'none twice')
  const reports = program
    .logged()
    .filter(({ msg }) => String(msg).includes(`shuts down before ${number} mails were sent`))
  t.equal(reports.length, 1, program.written().slice(-2000))
  t.notOk(program.logged().some(says('failure')))
})
