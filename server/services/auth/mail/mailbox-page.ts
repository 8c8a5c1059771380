// The mailbox and the templates of the development mode, as pages for people.
import { pageStyle } from '../../../http/page-style.ts'
import { escapeHtml } from './html-text.ts'
import { mailKinds, type MailKind } from './mail-kind.ts'
import type { MailMessage } from './mail-message.ts'
import type { RenderedMail } from './mail-templates.ts'
import { authPath } from '../dialect.ts'

/** Links to the other pages of the server. They are relative, so that they work behind a proxy with a path prefix. */
function navigation(path: string): string {
  const top = '../'.repeat(path.slice(path.lastIndexOf(authPath)).split('/').length - 2)
  const links = [
    ['', 'Home'],
    ['docs/', 'API reference'],
    [`${authPath.slice(1)}/dev/mailbox`, 'Mailbox'],
  ]
  return `<nav>${links.map(([href = '', text = '']) => `<a href="${top}${href}">${text}</a>`).join(' ')}</nav>`
}

const page = (title: string, path: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${pageStyle}</style>
</head>
<body>
${navigation(path)}
<h1>${escapeHtml(title)}</h1>
${body}
</body>
</html>
`

/** Mails may contain anything: the frame runs no scripts, and its links open in a new tab. */
const frame = (html: string): string =>
  `<iframe sandbox="allow-popups allow-popups-to-escape-sandbox" srcdoc="${escapeHtml(`<base target="_blank">${html}`)}"></iframe>`

/** @param path Path of the mailbox. */
export function mailboxPage(messages: readonly MailMessage[], path: string): string {
  const folder = `${path.replace(/\/$/, '')}/templates`
  const templates = mailKinds.map((kind) => `<a href="${folder}/${kind}">${kind}</a>`).join(', ')
  const list = messages.map(
    ({ to, subject, html, code, createdAt }) => `<h2>${escapeHtml(subject)}</h2>
<p>To ${escapeHtml(to)} <time>${createdAt.toISOString()}</time>${code === undefined ? '' : ` Code: <strong>${escapeHtml(code)}</strong>`}</p>
${frame(html)}`,
  )
  return page(
    'Mailbox',
    path,
    `<p>There is no mail server (GOTRUE_SMTP_HOST): mails are shown here, newest first. Templates: ${templates}</p>
${list.length === 0 ? '<p>There are no mails yet.</p>' : list.join('\n')}`,
  )
}

/** @param path Path of the page. */
export const templatePage = (kind: MailKind, { subject, html, text }: RenderedMail, path: string): string =>
  page(
    `Template ${kind}`,
    path,
    `<p>Subject: ${escapeHtml(subject)}</p>
${frame(html)}
<h2>Plain text</h2>
<pre>${escapeHtml(text)}</pre>`,
  )

/** A mail as JSON. */
export const mailboxEntry = ({ id, kind, to, subject, link, code, html, text, createdAt }: MailMessage): unknown => ({
  id,
  kind,
  to,
  subject,
  link: link ?? null,
  code: code ?? null,
  html,
  text,
  created_at: createdAt.toISOString(),
})
