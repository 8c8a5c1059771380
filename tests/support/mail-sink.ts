// A mail server that keeps what it receives.
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { Test } from 'tap'
import { until } from './until.ts'

export type ReceivedMail = {
  readonly to: string
  readonly subject: string
  /** The message as it arrived, with the soft line breaks of quoted-printable removed. */
  readonly text: string
  /** The first link to `/verify`. */
  readonly link: string
  /** The six digits. */
  readonly code: string
  readonly id: string
}

export type MailSink = {
  readonly port: number
  readonly received: readonly ReceivedMail[]
  /** Waits for the next mail to an address that no call has returned yet. */
  readonly next: (to: string) => Promise<ReceivedMail>
  /** How many mails to an address have arrived. */
  readonly countTo: (to: string) => number
  /** Delays the replies to received mails until the returned function is called. */
  readonly delayReplies: () => () => void
  /** Refuses the next mails with these replies, one after another. */
  readonly refuse: (...replies: readonly { readonly code: number; readonly at: 'recipient' | 'data' }[]) => void
}

export type MailSinkOptions = { readonly user?: string; readonly password?: string }

export async function startMailSink(
  t: Pick<Test, 'teardown'>,
  { user, password }: MailSinkOptions = {},
): Promise<MailSink> {
  const received: ReceivedMail[] = []
  const returned = new Set<ReceivedMail>()
  let mayReply: Promise<void> = Promise.resolve()
  const refusals: { readonly code: number; readonly at: 'recipient' | 'data' }[] = []
  const refusal = (at: 'recipient' | 'data'): Error | undefined => {
    if (refusals[0]?.at !== at) return undefined
    const code = refusals.shift()?.code ?? 451
    return Object.assign(new Error('refused by the test'), { responseCode: code })
  }
  const server = new SMTPServer({
    authOptional: user === undefined,
    disabledCommands: user === undefined ? ['AUTH', 'STARTTLS'] : ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: (given, _session, done) => {
      if (given.username === user && given.password === password) done(null, { user })
      else done(new Error('wrong password'))
    },
    onRcptTo: (_address, _session, done) => {
      done(refusal('recipient') ?? null)
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const error = refusal('data')
        if (!error) received.push(mailOf(Buffer.concat(chunks).toString(), session.envelope.rcptTo[0]?.address ?? ''))
        void mayReply.then(() => done(error ?? null))
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    next: async (to) => {
      const find = (): ReceivedMail | undefined => received.find((mail) => mail.to === to && !returned.has(mail))
      await until(() => find() !== undefined)
      const mail = find()
      if (!mail) throw new Error(`no mail to ${to}`)
      returned.add(mail)
      return mail
    },
    countTo: (to) => received.filter((mail) => mail.to === to).length,
    delayReplies: () => {
      let release = (): void => undefined
      mayReply = new Promise((resolve) => (release = resolve))
      return release
    },
    refuse: (...replies) => {
      refusals.push(...replies)
    },
  }
}

function mailOf(raw: string, to: string): ReceivedMail {
  const text = raw
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  const [body = ''] = text.split('</html>')
  return {
    to,
    text,
    subject: /^Subject: (.*)$/m.exec(text)?.[1]?.trim() ?? '',
    link: /https?:\/\/\S+\/verify\?[^\s"<]*/.exec(text)?.[0] ?? '',
    code: /(?<![\w./-])\d{6}(?![\w./-])/.exec(body.slice(body.indexOf('\r\n\r\n')))?.[0] ?? '',
    id: /^Message-ID: (.*)$/im.exec(text)?.[1]?.trim() ?? '',
  }
}
