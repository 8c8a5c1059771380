// The root of the service, as a small HTML page or JSON: during development, what there is; otherwise only that the service runs.
import type { IncomingMessage, ServerResponse } from 'node:http'
import Negotiator from 'negotiator'
import { pageStyle } from '../../http/page-style.ts'
import type { ServiceName } from '../../config/config.ts'
import { authPath } from '../../services/auth/dialect.ts'
import { functionsPath } from '../../services/functions/dialect.ts'
import { mcpPath } from '../../services/mcp/dialect.ts'
import { realtimePath } from '../../services/realtime/dialect.ts'
import { storagePath } from '../../services/storage/dialect.ts'

export type Home = {
  readonly version: string
  /** Mount path of the REST API. */
  readonly restBasePath: string
  /** The page lists them. */
  readonly services: readonly ServiceName[]
  /** Whether there is the mailbox of the development mode, which the page then links to. */
  readonly hasMailbox: boolean
  /** Whether the server has a console, which the page then links to. */
  readonly hasConsole: boolean
  /** Whether page and JSON list what there is. */
  readonly isDevelopment: boolean
  /** Fields for clients of the image analysis, which begin here; empty without it. */
  readonly entrypoint: Readonly<Record<string, string>>
}

/** The page loads no other resources. https://www.w3.org/TR/CSP3/ */
const pageHeaders = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'",
  'X-Content-Type-Options': 'nosniff',
}

/** The services with their paths, except `profiles`, which has none of its own. */
function servicesOf({ services, restBasePath, entrypoint }: Home): string {
  const all: readonly (readonly [service: ServiceName, path: string | undefined, description: string])[] = [
    ['rest', restBasePath, 'The REST API.'],
    [services.includes('auth-v1') ? 'auth-v1' : 'auth', authPath, 'Sign-in.'],
    ['storage', storagePath, 'Files.'],
    ['realtime', realtimePath, 'Channels, and changes of rows.'],
    ['functions', functionsPath, 'Functions of the project.'],
    ['mcp', mcpPath, 'Tools for agents.'],
    ['reports', '/report', 'Vehicle valuation reports.'],
    ['analysis', entrypoint.api_prefix, 'Image analysis.'],
  ]
  return all
    .filter(([service]) => services.includes(service))
    .map(([, path, description]) => `  <dt><code>${path}</code></dt><dd>${description}</dd>\n`)
    .join('')
}

/** Where the mailbox is, without a leading slash. */
export const mailboxLink = `${authPath.slice(1)}/dev/mailbox`

const mailboxEntry = `  <dt><a href="${mailboxLink}">Mailbox</a></dt><dd>The mails of sign-in during development.</dd>\n`

/** Links are relative, so that they work behind a proxy with a path prefix. */
const page = (body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>rowhouse</title>
<link rel="icon" href="data:,">
<style>${pageStyle}</style>
</head>
<body>
${body}</body>
</html>
`

const consoleEntry = (isDevelopment: boolean): string => `<p><a class="button" href="console/">Open the console</a></p>
${isDevelopment ? '<p class="faint">The server prints a link that opens it; <code>rowhouse console</code> prints a new one.</p>\n' : ''}`

const bodyOf = (options: Home): string =>
  options.isDevelopment
    ? `<nav><a href="docs/">API reference</a><a href="docs/guide/">Guides</a><a href="openapi.json">OpenAPI document</a><a href="health">Health</a></nav>
<h1>rowhouse</h1>
<p>A PostgreSQL database as a REST API. Version ${options.version}.</p>
${options.hasConsole ? consoleEntry(true) : ''}<dl>
  <dt><a href="docs/">API reference</a></dt><dd>Every table and route, to read and to try.</dd>
  <dt><a href="docs/guide/">Guides</a></dt><dd>How to do what, with a search.</dd>
${options.hasMailbox ? mailboxEntry : ''}${servicesOf(options)}</dl>
`
    : `<h1>rowhouse</h1>
<p>The service is running.</p>
${options.hasConsole ? consoleEntry(false) : ''}`

const descriptionOf = ({ isDevelopment, version, restBasePath, entrypoint }: Home): object => ({
  name: 'rowhouse',
  status: 'ok',
  ...(isDevelopment ? { version, rest: restBasePath, docs: '/docs', openapi: '/openapi.json', health: '/health' } : {}),
  ...entrypoint,
})

/** `GET /`: HTML if the client prefers it to JSON, as browsers do; otherwise JSON. */
export function home(options: Home): (request: IncomingMessage, response: ServerResponse) => void {
  const html = page(bodyOf(options))
  const json = JSON.stringify(descriptionOf(options))
  return (request, response) => {
    const wantsPage = new Negotiator(request).mediaType(['application/json', 'text/html']) === 'text/html'
    const body = wantsPage ? html : json
    response.appendHeader('Vary', 'Accept')
    response.writeHead(200, {
      'Content-Type': wantsPage ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      ...(wantsPage ? pageHeaders : {}),
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}
