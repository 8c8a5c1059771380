// The page of the console and what it loads: the files of `dist/console`, which `npm run build` bundles.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import Negotiator from 'negotiator'
import { Failure } from '../../http/envelope.ts'
import type { Route, RouteHandler } from '../../http/route.ts'
import { originalTarget } from '../../http/router.ts'

/** The same from `server/` and from `dist/`. */
const folder = fileURLToPath(new URL('../../../dist/console/', import.meta.url))

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/**
 * No script and no style but those of this server, nothing of other hosts. `blob:` and `data:` are for images that are
 * fetched with a token. Frames show mails and documents, without scripts of theirs. https://www.w3.org/TR/CSP3/
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "frame-src 'self' blob:",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const headers = {
  'Content-Security-Policy': contentSecurityPolicy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** The routes of the files. Everyone may load them: they contain nothing of the database. */
export function fileRoutes(): readonly Route[] {
  let names: Promise<ReadonlySet<string>> | undefined
  const handlerFor =
    (nameOf: (parameters: Readonly<Record<string, string>>) => string): RouteHandler =>
    async (request, response, { parameters }) => {
      if (isWithoutSlash(request)) {
        response.writeHead(307, { ...headers, Location: './console/' }).end()
        return
      }
      const name = nameOf(parameters)
      if (!(await (names ??= listFiles())).has(name)) throw absent(name)
      await sendFile(request, response, name)
    }
  const route = { method: 'get', tag: 'console', security: [], hidden: true } as const
  const responses = { 200: { description: 'The file.' } }
  return [
    {
      ...route,
      path: '/console/',
      id: 'console',
      summary: 'The console',
      responses,
      prepare: () => handlerFor(() => 'index.html'),
    },
    {
      ...route,
      path: '/console/{file}',
      id: 'consoleFile',
      summary: 'A file of the console',
      responses,
      // The page of consent has an address without the ending of a file.
      prepare: () => handlerFor(({ file = '' }) => (file === 'consent' ? 'consent.html' : file)),
    },
    {
      ...route,
      path: '/console/parts/{file}',
      id: 'consolePart',
      summary: 'A part of the console',
      responses,
      prepare: () => handlerFor(({ file = '' }) => `parts/${file}`),
    },
  ]
}

/** Without the slash at the end, relative URLs would resolve one level too high. */
const isWithoutSlash = (request: IncomingMessage): boolean => /\/console(?:\?.*)?$/s.test(originalTarget(request))

const absent = (name: string): Failure =>
  name === 'index.html'
    ? new Failure(404, 'The console has not been built: run npm run build')
    : new Failure(404, `The console has no file ${name}`, { error: 'Not Found' })

async function listFiles(): Promise<ReadonlySet<string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const prefix = folder.length
  return new Set(
    found
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => `${parentPath}/${name}`.replaceAll('//', '/').replaceAll('\\', '/').slice(prefix)),
  )
}

const compress = promisify(gzip)

async function sendFile(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> {
  const content = await readFile(`${folder}${name}`)
  const etag = `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  const shared = {
    ...headers,
    ETag: etag,
    Vary: 'Accept-Encoding',
    // Names of parts contain the hash of their content.
    'Cache-Control': name.startsWith('parts/') ? 'private, max-age=31536000, immutable' : 'no-cache',
  }
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, shared).end()
    return
  }
  const isCompressed = new Negotiator(request).encoding(['gzip', 'identity']) === 'gzip'
  const body = isCompressed ? await compress(content) : content
  response.writeHead(200, {
    ...shared,
    'Content-Type': types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
    'Content-Length': body.length,
    ...(isCompressed ? { 'Content-Encoding': 'gzip' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
