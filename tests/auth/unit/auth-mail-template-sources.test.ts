// Templates of mails that cannot be read: each has a clear message, costs bounded time and memory, and the mail is sent.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { defaultTemplates } from '../../../server/services/auth/mail/default-templates.ts'
import { sampleVariables } from '../../../server/services/auth/mail/mail-kind.ts'
import { MailTemplates } from '../../../server/services/auth/mail/mail-templates.ts'
import { listen } from '../../support/listening.ts'

const folder = await mkdtemp(join(tmpdir(), 'templates-'))
t.teardown(() => rm(folder, { recursive: true }))
const long = '<p>long</p>'.repeat(100_000)
await writeFile(join(folder, 'good page.html'), '<p>{{ .Token }}</p>')
await writeFile(join(folder, 'long.html'), long)
await mkdir(join(folder, 'folder'))

let endlessBytes = 0
let isEndlessClosed = false
const pages: Readonly<Record<string, RequestListener>> = {
  '/good': (_request, response) => response.end('<p>{{ .Token }}</p>'),
  '/silent': () => undefined,
  '/trickling': (_request, response) => void response.write('<p>'),
  '/endless': (_request, response) => {
    const part = Buffer.alloc(64 * 1024, 'x')
    const write = (): void => {
      while (!response.destroyed && response.write(part)) endlessBytes += part.length
    }
    response.on('drain', write).on('close', () => (isEndlessClosed = true))
    write()
  },
  '/missing': (_request, response) => response.writeHead(404).end('not here'),
  '/broken': (_request, response) =>
    response.writeHead(200, { 'Content-Length': 10 }).write('x', () => response.destroy()),
  '/elsewhere': (_request, response) => response.writeHead(302, { Location: '/good' }).end(),
  '/circle': (_request, response) => response.writeHead(302, { Location: '/circle' }).end(),
  '/to-file': (_request, response) => response.writeHead(302, { Location: 'file:///etc/passwd' }).end(),
}
const url = await listen(t, (request, response) => pages[request.url ?? '']?.(request, response))

/** The mail with a template at a location, and what is reported. */
async function mailWith(
  template: string,
  timeout = 60_000,
): Promise<{ readonly html: string; readonly problems: readonly string[] }> {
  const problems: string[] = []
  const contents = new Map([['recovery', { subject: null, template }]] as const)
  const mails = new MailTemplates({ contents: () => contents, onProblem: (problem) => problems.push(problem), timeout })
  const { html } = await mails.render('recovery', sampleVariables)
  await mails.render('recovery', sampleVariables)
  return { html, problems }
}

const fileUrl = (name: string): string => pathToFileURL(join(folder, name)).href

t.test('templates that can be read', async (t) => {
  for (const location of [
    `${url}/good`,
    `${url}/elsewhere`,
    fileUrl('good page.html'),
    join(folder, 'good page.html'),
  ]) {
    t.strictSame(await mailWith(location), { html: '<p>123456</p>', problems: [] }, location)
  }
})

const byDefault = (await mailWith('')).html

const failures: readonly (readonly [location: string, reason: RegExp, timeout?: number])[] = [
  [`${url}/silent`, /cannot be read: it took more than 0\.1 seconds\./, 100],
  [`${url}/trickling`, /cannot be read: it took more than 0\.1 seconds\./, 100],
  [`${url}/endless`, /cannot be read: it is longer than 1000000 bytes\./],
  [`${url}/missing`, /cannot be read: status 404\./],
  [`${url}/broken`, /cannot be read: (?:other side closed|terminated|aborted)/],
  [`${url}/circle`, /cannot be read: redirect count exceeded\./],
  [`${url}/to-file`, /cannot be read: URL scheme must be a HTTP\(S\) scheme\./],
  ['http://127.0.0.1:1/', /cannot be read: connect ECONNREFUSED 127\.0\.0\.1:1\.|cannot be read: bad port\./],
  [fileUrl('long.html'), /cannot be read: it is longer than 1000000 bytes\./],
  [fileUrl('absent.html'), /: ENOENT: no such file or directory, .*absent\.html/],
  [fileUrl('folder'), /cannot be read: it is not a file\./],
  ['file:///dev/zero', /cannot be read: it is not a file\./],
  ['file://elsewhere/mail.html', /cannot be read: File URL host must be/],
]

t.test('templates that cannot be read', async (t) => {
  t.match(byDefault, defaultTemplates.recovery.html.slice(0, 15))
  for (const [location, reason, timeout] of failures) {
    const { html, problems } = await mailWith(location, timeout)
    t.equal(html, byDefault, `${location}: the default is used`)
    t.equal(problems.length, 1, 'and the problem is reported once')
    t.match(problems[0], reason)
    t.match(problems[0], /^GOTRUE_MAILER_TEMPLATES_RECOVERY: .*Mails use the last usable template, or the default\.$/)
    t.ok(problems[0]?.includes(location.replace(/^file:\/\/(?=\/.*absent)/, '')), 'it names the location')
  }
  t.ok(endlessBytes < 20_000_000, `not read to the end: ${endlessBytes}`)
  t.ok(isEndlessClosed)
})
