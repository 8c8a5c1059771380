// The service with a mail server of the test, on a database of its own.
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { startApplication, type Application } from './application.ts'
import { askAuth, sessionOf, type AskAuth, type SessionBody } from './auth.ts'
import { createMigratedDatabase, type MigratedDatabase } from './database.ts'
import { startMailSink, type MailSink } from './mail-sink.ts'

/** Settings of a service that sends mails to a server of the test, as many and as often as requests ask for. */
export const mailSettings = ({ port }: Pick<MailSink, 'port'>) =>
  ({
    GOTRUE_SITE_URL: 'https://app.test',
    GOTRUE_SMTP_HOST: '127.0.0.1',
    GOTRUE_SMTP_PORT: String(port),
    GOTRUE_SMTP_ADMIN_EMAIL: 'admin@app.test',
    GOTRUE_SMTP_MAX_FREQUENCY: '0s',
    GOTRUE_RATE_LIMIT_EMAIL_SENT: '10000',
  }) as const satisfies Environment

/** Settings of the sign-in with a cookie, without TLS. */
export const cookieSettings = { SESSION_SECRETS: 's'.repeat(32), SECURE_COOKIES: 'false' } as const

/** A running service, and how to send requests to `/auth/v1`. */
export type AskedApplication = Application & { readonly ask: AskAuth }

export type MailingService = AskedApplication & {
  readonly database: MigratedDatabase
  readonly sink: MailSink
  /** Signs a user in by the code of a mail, which proves the address. `by` verifies it, by default the service itself. */
  readonly signInByMail: (email: string, by?: AskAuth) => Promise<SessionBody>
  /** Starts another service with the same database and mail server. */
  readonly startAnother: (env?: Environment) => Promise<AskedApplication>
}

/**
 * Starts the service for the duration of a test.
 *
 * @param env settings beside `mailSettings`
 */
export async function startMailingService(t: Pick<Test, 'teardown'>, env: Environment = {}): Promise<MailingService> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const sink = await startMailSink(t)
  const startAnother = async (more: Environment = {}): Promise<AskedApplication> => {
    const settings = { ...mailSettings(sink), ...env, ...more }
    const application = await startApplication(t, database.authenticatorUri, settings)
    return { ...application, ask: askAuth(application.url) }
  }
  const application = await startAnother()
  const signInByMail = async (email: string, by: AskAuth = application.ask): Promise<SessionBody> => {
    await application.ask('POST', '/otp', { body: { email } })
    const { code } = await sink.next(email)
    return sessionOf(await by('POST', '/verify', { body: { type: 'email', email, token: code } }))
  }
  return { ...application, database, sink, signInByMail, startAnother }
}
