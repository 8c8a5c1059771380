// GET /dev/mailbox: the mails of the development mode, and the templates.
import type { IncomingMessage } from 'node:http'
import { isTrustedOrigin } from '../../../http/cross-origin.ts'
import { isLocalRequest } from '../../../http/local-request.ts'
import { originalTarget } from '../../../http/router.ts'
import { AuthError } from '../auth-error.ts'
import type { AuthContext } from '../auth-context.ts'
import { authPath, defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { mailKinds, sampleVariables, type MailKind } from './mail-kind.ts'
import type { Mailbox } from './mailbox.ts'
import { mailboxEntry, mailboxPage, templatePage } from './mailbox-page.ts'

const path = '/dev/mailbox'

/** Pages of other origins, such as those on other ports of this machine, must not embed a response. */
const headers = { 'Cross-Origin-Resource-Policy': 'same-origin' }

/** The frames of the pages need inline styles, nothing else. */
const pageHeaders = {
  ...headers,
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; frame-src 'self'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
}

export const mailboxRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path,
    id: 'authMailbox',
    summary: 'Read the mails of the development mode',
    description:
      'Without a mail server, mails are kept here while the server is for development: an embedded database, and only ' +
      'clients on the same machine. JSON, or a page for browsers. Newest first.',
    caller: 'anyone',
    success: [200, 'The mails.'],
    errors: { 404: 'The server is not for development.' },
    handler: ({ context, request }) => {
      const { messages } = mailboxFor(context, request)
      if (!wantsPage(request)) return { json: { messages: messages.map(mailboxEntry) }, headers }
      return { html: mailboxPage(messages, basePath(request)), headers: pageHeaders }
    },
  }),
  defineAuthRoute({
    method: 'get',
    path: `${path}/templates/{name}`,
    id: 'authMailTemplate',
    summary: 'Look at the template of a mail',
    description: `With sample values. The names are ${mailKinds.join(', ')}.`,
    caller: 'anyone',
    pathParameters: {
      name: {
        description: 'The name of the template.',
        schema: { type: 'string', enum: [...mailKinds] },
        read: (text) => text,
      },
    },
    success: [200, 'A page.'],
    errors: { 404: 'There is no such template, or the server is not for development.' },
    handler: async ({ context, request, path: { name } }) => {
      mailboxFor(context, request)
      const kind = mailKinds.find((it): it is MailKind => it === name)
      if (!kind) throw new AuthError(404, 'validation_failed', `There is no template with the name ${name}`)
      const rendered = await context.mailer.templates.render(kind, sampleVariables)
      return { html: templatePage(kind, rendered, basePath(request)), headers: pageHeaders }
    },
  }),
]

/**
 * The mailbox, for clients on the same machine, and for its own pages. Of browsers, only this origin and users who type the
 * address get it: a page on another port of this machine is of the same site.
 *
 * @throws AuthError 404
 */
function mailboxFor({ mailer }: Pick<AuthContext, 'mailer'>, request: IncomingMessage): Mailbox {
  if (!mailer.mailbox || !isLocalRequest(request) || !isTrustedOrigin(request, [])) {
    throw new AuthError(404, null, 'Not Found')
  }
  return mailer.mailbox
}

const wantsPage = ({ headers }: IncomingMessage): boolean => (headers.accept ?? '').includes('text/html')

/** The path as the client wrote it, because the service may be mounted below another path. */
const basePath = (request: IncomingMessage): string =>
  (originalTarget(request).split('?', 1)[0] ?? `${authPath}${path}`)
    .replace(/[^A-Za-z0-9/_.-]/g, '')
    .replace(/^\/{2,}/, '/')
