// Templates of mails, and how mails are sent: retried, but never sent twice.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { actionLink } from '../../../server/services/auth/mail/action-link.ts'
import { GoTemplate } from '../../../server/services/auth/mail/go-template.ts'
import { htmlToText } from '../../../server/services/auth/mail/html-text.ts'
import { BackgroundTasks } from '../../../server/services/auth/background-tasks.ts'
import { DeliveryError } from '../../../server/services/auth/mail/mail-delivery.ts'
import { mailKinds, sampleVariables } from '../../../server/services/auth/mail/mail-kind.ts'
import { headerText, isMailbox, type MailMessage } from '../../../server/services/auth/mail/mail-message.ts'
import { MailTemplates, type TemplateSources } from '../../../server/services/auth/mail/mail-templates.ts'
import { Mailbox } from '../../../server/services/auth/mail/mailbox.ts'
import { Mailer, type MailerSettings } from '../../../server/services/auth/mail/mailer.ts'
import { Outbox } from '../../../server/services/auth/mail/outbox.ts'
import { createSmtpDelivery } from '../../../server/services/auth/mail/smtp-delivery.ts'
import { TemplateError } from '../../../server/services/auth/mail/template-error.ts'
import { listenOnLoopback } from '../../support/loopback-server.ts'
import { startMailSink } from '../../support/mail-sink.ts'
import { until } from '../../support/until.ts'

const names = ['Email', 'Token', 'Data', 'ConfirmationURL']
const values = {
  Email: 'a&b@c.test',
  Token: '',
  Data: { name: '<Ada>', list: [1, 2], no: false },
  ConfirmationURL: 'https://a.test/?x=1&y=2',
}

const templates: readonly (readonly [source: string, html: string])[] = [
  ['plain { text } }', 'plain { text } }'],
  ['{{ .Email }}', 'a&amp;b@c.test'],
  ['{{.Data.name}}', '&lt;Ada&gt;'],
  ['{{ .Data.absent }}|{{ .Data.absent.deeper }}|{{ .Data.constructor }}', '||'],
  ['<a href="{{ .ConfirmationURL }}">', '<a href="https://a.test/?x=1&amp;y=2">'],
  ['a {{- " b " -}} c', 'a b c'],
  ['{{/* a comment */}}x', 'x'],
  ['{{ if .Token }}yes{{ else }}no{{ end }}', 'no'],
  ['{{ if .Token }}1{{ else if .Email }}2{{ else }}3{{ end }}', '2'],
  ['{{ if and .Email (not .Token) }}x{{ end }}', 'x'],
  ['{{ if or .Token .Data.no }}x{{ end }}', ''],
  ['{{ if eq .Email "x" "a&b@c.test" }}x{{ end }}{{ if ne 1 2 }}y{{ end }}', 'xy'],
  ['{{ with .Data }}{{ .name }}{{ $.Email }}{{ end }}', '&lt;Ada&gt;a&amp;b@c.test'],
  ['{{ index .Data "name" }}{{ len .Data.list }}', '&lt;Ada&gt;2'],
  ['{{ .Email | urlquery }}', 'a%26b%40c.test'],
  ['{{ `raw` }}{{ true }}{{ nil }}', 'rawtrue'],
]

t.test('templates are those of Go', (t) => {
  for (const [source, html] of templates) t.equal(new GoTemplate(source, 'html', names).render(values), html, source)
  t.equal(new GoTemplate('{{ .Email }}', 'text', names).render(values), 'a&b@c.test')
  const link = new GoTemplate('<a href="{{ .Email }}">{{ .Email }}', 'html', names)
  t.equal(link.render({ Email: 'javascript:alert(1)' }), '<a href="#">javascript:alert(1)')
  t.end()
})

const malformed: readonly (readonly [source: string, message: RegExp])[] = [
  ['{{ .ConfirmationUrl }}', /the variable "\.ConfirmationUrl" is unknown \(known: \.Email, \.Token, \.Data/],
  ['{{ if .Email }}', /has no "\{\{ end \}\}"/],
  ['{{ end }}', /misplaced/],
  ['{{ if .Email }}{{ else }}{{ else }}{{ end }}', /repeated/],
  ['{{ range .Data }}{{ end }}', /"\{\{ range \}\}" is not supported/],
  ['{{ printf "%s" .Email }}', /function "printf" is not supported/],
  ['{{ .Email', /not closed/],
  ['{{ (.Email }}', /parenthesis/],
  ['{{ .Email .Token }}', /malformed/],
  ['{{ }}', /malformed/],
]

t.test('malformed templates are explained', (t) => {
  for (const [source, message] of malformed) {
    t.throws(() => new GoTemplate(source, 'html', names), { message, constructor: TemplateError }, source)
  }
  t.end()
})

t.test('HTML becomes readable text', (t) => {
  t.equal(
    htmlToText(
      '<h2>Hello</h2>\n<p>A &amp; B<br>C</p><style>x{}</style><p><a href="https://a.test/?a=1&amp;b=2">Open</a></p>',
    ),
    'Hello\n\nA & B\nC\n\nOpen:\nhttps://a.test/?a=1&b=2\n',
  )
  t.end()
})

t.test('headers cannot be injected', (t) => {
  t.equal(headerText('a\r\nBcc: b@c.test\u2028x'), 'a Bcc: b@c.test x')
  for (const address of ['a@b.test', "o'neil+x@b.test"]) t.ok(isMailbox(address), address)
  for (const address of [
    'a@b.test\r\nBcc: c@d.test',
    'a@b.test,c@d.test',
    'A <a@b.test>',
    'a b@c.test',
    '@b',
    'a@',
    '',
  ])
    t.notOk(isMailbox(address), JSON.stringify(address))
  t.end()
})

t.test('links of mails', (t) => {
  const link = (externalUrl: string, urlPath: string | null, redirectTo = 'https://a.test/x'): string =>
    actionLink({ externalUrl, urlPath, token: 'abc', type: 'signup', redirectTo })
  const query = '?token=abc&type=signup&redirect_to=https://a.test/x'
  t.equal(link('https://h.test/auth/v1', null), `https://h.test/auth/v1/verify${query}`)
  t.equal(link('https://h.test/auth/v1', '/verify'), `https://h.test/auth/v1/verify${query}`)
  t.equal(link('https://h.test/auth/v1', '/auth/v1/verify'), `https://h.test/auth/v1/verify${query}`)
  t.equal(link('https://h.test', '/verify'), `https://h.test/verify${query}`)
  t.equal(link('https://h.test', 'https://app.test/confirm?a=1'), `https://app.test/confirm?a=1&${query.slice(1)}`)
  t.match(
    link('https://h.test', null, 'https://a.test/?x=1&y#z'),
    /redirect_to=https%3A%2F%2Fa\.test%2F%3Fx%3D1%26y%23z$/,
  )
  t.end()
})

t.test('all default templates have link and code', async (t) => {
  const mails = new MailTemplates({ contents: () => new Map(), onProblem: (problem) => t.fail(problem) })
  await mails.load()
  for (const kind of mailKinds) {
    const { subject, html, text } = await mails.render(kind, sampleVariables)
    t.match(subject, /\S/)
    t.notMatch(html, /\{\{|undefined|null/)
    const has = { link: text.includes(sampleVariables.ConfirmationURL), code: /\b123456\b/.test(text) }
    const isNotice = kind === 'existing_account' || kind.endsWith('_notification')
    t.strictSame(has, { link: !isNotice && kind !== 'reauthentication', code: !isNotice }, kind)
  }
})

t.test('templates of the settings', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'templates-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const file = join(folder, 'mail.html')
  await writeFile(file, '<p>{{ .Token }} for {{ .Email }}</p>')
  const problems: string[] = []
  let clock = 0
  const contents = new Map<'recovery' | 'invite' | 'confirmation', TemplateSources>([
    ['recovery', { subject: 'Code {{ .Token }}\r\nBcc: x@y.test', template: file }],
    ['invite', { subject: '{{ .Wrong }}', template: join(folder, 'absent.html') }],
    ['confirmation', { subject: null, template: 'http://127.0.0.1:1/template.html' }],
  ])
  const mails = new MailTemplates({
    contents: () => contents,
    onProblem: (problem) => problems.push(problem),
    now: () => clock,
  })
  await mails.load()
  t.match(problems.sort(), [
    /^GOTRUE_MAILER_SUBJECTS_INVITE: the variable "\.Wrong" is unknown/,
    /^GOTRUE_MAILER_TEMPLATES_CONFIRMATION: http:\/\/127\.0\.0\.1:1\/template\.html cannot be read/,
    /^GOTRUE_MAILER_TEMPLATES_INVITE: ENOENT/,
  ])
  const recovery = await mails.render('recovery', sampleVariables)
  t.equal(recovery.subject, 'Code 123456 Bcc: x@y.test')
  t.equal(recovery.html, '<p>123456 for ada@example.com</p>')
  t.equal((await mails.render('invite', sampleVariables)).subject, 'You are invited')
  await writeFile(file, '{{ .Broken }}')
  clock += 3_600_000
  t.equal(
    (await mails.render('recovery', sampleVariables)).html,
    '<p>123456 for ada@example.com</p>',
    'the last usable one',
  )
  t.match(problems.at(-1), /GOTRUE_MAILER_TEMPLATES_RECOVERY: the variable "\.Broken" is unknown/)
})

const message = (id: string): MailMessage => ({
  id: `<${id}@test>`,
  kind: 'recovery',
  from: 'from@b.test',
  to: 'to@b.test',
  subject: 'Subject',
  html: '<p>x</p></html>',
  text: 'x',
  link: undefined,
  code: undefined,
  createdAt: new Date(0),
})

t.test('only temporary failures are retried', async (t) => {
  const problems: string[] = []
  const attempts: string[] = []
  const failures: (DeliveryError | Error | undefined)[] = [
    new DeliveryError('busy', true),
    new DeliveryError('busy', true),
    undefined,
    new DeliveryError('uncertain', false),
    new Error('a fault'),
  ]
  const outbox = new Outbox({
    deliver: ({ id }) => {
      attempts.push(id)
      const failure = failures.shift()
      return failure ? Promise.reject(failure) : Promise.resolve()
    },
    onProblem: (problem) => problems.push(problem),
    pauses: [1, 1],
    concurrency: 1,
  })
  outbox.add('to@b.test', () => Promise.resolve(message('1')))
  t.ok(await until(() => outbox.size === 0))
  t.strictSame(attempts, ['<1@test>', '<1@test>', '<1@test>'])
  outbox.add('to@b.test', () => Promise.resolve(message('2')))
  outbox.add('to@b.test', () => Promise.resolve(message('3')))
  outbox.add('to@b.test', () => Promise.reject(new Error('no template')))
  t.ok(await until(() => outbox.size === 0))
  t.strictSame(attempts.slice(3), ['<2@test>', '<3@test>'])
  t.match(problems, [/sent later\. busy/, /not sent\. uncertain/, /not sent\. a fault/, /not sent: no template/])
})

t.test('a mail is created after the response of its request', async (t) => {
  const steps: string[] = []
  const outbox = new Outbox({ deliver: () => Promise.resolve(), onProblem: (it) => steps.push(it) })
  outbox.add('to@b.test', () => {
    steps.push('mail')
    return Promise.resolve(message('1'))
  })
  const tasks = new BackgroundTasks(() => undefined)
  tasks.run(() => Promise.resolve(void steps.push('task')))
  // What a handler still does until it responds, and what Express does then, takes promises and ticks.
  for (let step = 0; step < 100; step++) await new Promise<void>((resolve) => process.nextTick(resolve))
  steps.push('response')
  await outbox.drain(10_000)
  await tasks.drain(10_000)
  t.strictSame(steps, ['response', 'mail', 'task'])
})

t.test('the last attempt is at the end, which takes a bounded time', async (t) => {
  const problems: string[] = []
  let attempts = 0
  const outbox = new Outbox({
    deliver: () => {
      attempts += 1
      return attempts < 3 ? Promise.reject(new DeliveryError('busy', true)) : new Promise(() => undefined)
    },
    onProblem: (problem) => problems.push(problem),
    pauses: [1_000_000],
  })
  outbox.add('to@b.test', () => Promise.resolve(message('1')))
  t.ok(await until(() => problems.length === 1))
  await outbox.drain(10_000)
  t.equal(attempts, 2)
  outbox.add('to@b.test', () => Promise.resolve(message('2')))
  t.match(problems.slice(1), [/not sent\. busy/, /discarded: the server is shutting down/])
  const hanging = new Outbox({ deliver: () => new Promise(() => undefined), onProblem: (it) => problems.push(it) })
  hanging.add('to@b.test', () => Promise.resolve(message('3')))
  await hanging.drain(1)
  t.match(problems.at(-1), /shuts down before 1 mails were sent/)
})

t.test('a mail is sent by SMTP once, with the same id for every attempt', async (t) => {
  const sink = await startMailSink(t)
  const problems: string[] = []
  const smtp = createSmtpDelivery({
    host: '127.0.0.1',
    port: sink.port,
    user: null,
    password: null,
    sender: 's@b.test',
  })
  t.equal(await smtp.check(), undefined)
  const outbox = new Outbox({ deliver: smtp.deliver, onProblem: (it) => problems.push(it), pauses: [1, 1] })
  sink.refuse({ code: 451, at: 'recipient' }, { code: 452, at: 'data' })
  outbox.add('to@b.test', () => Promise.resolve(message('retried')))
  t.equal((await sink.next('to@b.test')).id, '<retried@test>')
  sink.refuse({ code: 550, at: 'recipient' })
  outbox.add('to@b.test', () => Promise.resolve(message('refused')))
  t.ok(await until(() => problems.length === 2))
  t.match(problems[1], /refuses the mail.*550/)
  await outbox.drain(10_000)
  smtp.close()
  t.equal(sink.received.length, 1)
})

t.test('a mail is not sent again if the server breaks off after receiving it', async (t) => {
  let connections = 0
  const port = await listenOnLoopback(
    t,
    createServer((socket) => {
      connections += 1
      socket.write('220 test\r\n')
      let isData = false
      let received = ''
      socket.on('error', () => undefined)
      socket.on('data', (chunk) => {
        received += chunk.toString()
        if (isData) {
          if (received.endsWith('\r\n.\r\n')) socket.destroy()
          return
        }
        isData = /^DATA\r\n$/m.test(received)
        received = ''
        socket.write(isData ? '354 go\r\n' : '250 ok\r\n')
      })
    }),
  )
  const smtp = createSmtpDelivery({ host: '127.0.0.1', port, user: null, password: null, sender: 's@b.test' })
  const problems: string[] = []
  const outbox = new Outbox({ deliver: smtp.deliver, onProblem: (it) => problems.push(it), pauses: [1, 1] })
  outbox.add('to@b.test', () => Promise.resolve(message('1')))
  t.ok(await until(() => problems.length === 1))
  t.match(problems, [
    /not sent\. The connection to the mail server 127\.0\.0\.1:\d+ broke before it confirmed the mail/,
  ])
  t.equal(connections, 1)
})

t.test('problems of the mail server are explained at the start', async (t) => {
  const sink = await startMailSink(t, { user: 'ada', password: 'secret' })
  const warnings: string[] = []
  const settings: MailerSettings = {
    authSmtpHost: '127.0.0.1',
    authSmtpPort: sink.port,
    authSmtpUser: 'ada',
    authSmtpPass: 'wrong',
    authSmtpAdminEmail: 'admin@b.test',
    authSmtpSenderName: 'Ada "x"\r\nBcc: c@d.test',
    authMailContents: new Map(),
  }
  const check = async (changes: Partial<MailerSettings>, isDevelopment = false): Promise<string[]> => {
    warnings.length = 0
    const mailer = new Mailer({
      settings: () => ({ ...settings, ...changes }),
      isDevelopment,
      print: () => undefined,
      warn: (it) => warnings.push(it),
    })
    await mailer.check()
    await mailer.stop(1000)
    return [...warnings]
  }
  t.match(await check({}), [/No mails can be sent.*refuses the login of ada \(GOTRUE_SMTP_USER, GOTRUE_SMTP_PASS\)/])
  t.strictSame(await check({ authSmtpPass: 'secret' }), [])
  t.match(await check({ authSmtpPort: 1 }), [/cannot be reached \(GOTRUE_SMTP_HOST, GOTRUE_SMTP_PORT\)/])
  t.match(await check({ authSmtpHost: null }), [/No mails are sent: there is no mail server \(GOTRUE_SMTP_HOST\)/])
  t.strictSame(await check({ authSmtpHost: null }, true), [])

  const mailer = new Mailer({
    settings: () => ({ ...settings, authSmtpPass: 'secret' }),
    isDevelopment: false,
    print: () => undefined,
    warn: (it) => t.fail(it),
  })
  mailer.send('recovery', 'to@b.test', sampleVariables)
  const { text } = await sink.next('to@b.test')
  t.match(text, /^From: "Ada x Bcc: c@d.test" <admin@b\.test>|^From: .*<admin@b\.test>\r$/m)
  t.notMatch(text, /^Bcc:/m)
  await mailer.stop(1000)
})

t.test('the mailbox of the development mode is bounded, and prints what people need', async (t) => {
  const printed: string[] = []
  const mailbox = new Mailbox({ print: (block) => printed.push(block), capacity: 2 })
  for (const id of ['1', '2', '3']) await mailbox.deliver({ ...message(id), link: 'https://a.test/l', code: '123456' })
  t.strictSame(
    mailbox.messages.map(({ id }) => id),
    ['<3@test>', '<2@test>'],
  )
  t.match(printed[0], /Mail to to@b\.test\n.*Subject\n.*Code: 123456\n.*Link:\nhttps:\/\/a\.test\/l\n/)
})
