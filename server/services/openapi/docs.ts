// The API reference page: Swagger UI, served without other origins.
import { createRequire } from 'node:module'
import type { Router } from 'express'
import { exactRouter } from '../../http/exact-router.ts'
import { pageColors } from '../../http/page-style.ts'

export type DocsSettings = {
  /** Path of the OpenAPI document on this origin: `/openapi.json`. */
  readonly documentUrl: string
  /** Links to other pages of the server, relative to this one. */
  readonly links?: readonly { readonly text: string; readonly href: string }[]
}

const require = createRequire(import.meta.url)

/** The only files of the package that are served. */
const assets = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const

/**
 * Allows only this origin. Swagger UI has its icons in `data:` URLs, and sets style attributes.
 * https://www.w3.org/TR/CSP3/
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers = {
  'Content-Security-Policy': contentSecurityPolicy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
}

const navigation = (links: NonNullable<DocsSettings['links']>): string =>
  links.length === 0
    ? ''
    : `<nav>
${links.map(({ text, href }) => `<a href="${href}">${text}</a>\n`).join('')}</nav>
`

/**
 * Gives Swagger UI, which is light only, the look of the other pages. In the dark, the whole page is inverted, and its dark
 * blocks of code once more. On the root, a filter leaves the dialogs where they are.
 * https://drafts.fxtf.org/filter-effects/#FilterProperty
 */
const style = `${pageColors}
@media (prefers-color-scheme: dark) {
  :root {
    color-scheme: light;
    --text: #1f2328; --faint: #59636e; --ground: #fff; --raised: #f6f8fa; --line: #d8dee4; --link: #0b6a61;
    background: #fff; filter: invert(.91) hue-rotate(180deg);
  }
  .swagger-ui :is(.highlight-code, .curl-command, .example > pre, img) { filter: invert(1) hue-rotate(180deg) }
}
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.6 system-ui, sans-serif }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; max-width: 1460px; margin: 0 auto; padding: .9rem 20px 0 }
nav a { color: var(--link); text-decoration: none }
nav a:hover { text-decoration: underline }
.swagger-ui :is(h1, h2, h3, h4, h5, p, a, label, button, input, select, table, th, td, li, span, div):not(code *, pre *, .opblock-summary-path *) {
  font-family: system-ui, sans-serif;
}
.swagger-ui :is(code, pre, .opblock-summary-path, textarea) { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
.swagger-ui .info { margin: 1.5rem 0 }
.swagger-ui :is(a, a.nostyle).link, .swagger-ui .info a { color: var(--link) }
.swagger-ui .btn.authorize { border-color: var(--link); color: var(--link) }
.swagger-ui .btn.authorize svg { fill: var(--link) }
.swagger-ui .scheme-container { box-shadow: none; border-block: 1px solid var(--line); background: var(--raised) }
.swagger-ui .opblock { box-shadow: none; border-radius: .5rem }
`

const page = (links: NonNullable<DocsSettings['links']>): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<link rel="icon" type="image/png" href="favicon-32x32.png">
<link rel="stylesheet" href="swagger-ui.css">
<link rel="stylesheet" href="reference.css">
</head>
<body>
${navigation(links)}<div id="reference"></div>
<script src="swagger-ui-bundle.js"></script>
<script src="reference.js"></script>
</body>
</html>
`

/** No validator: Swagger UI would send the document to a service on another host. */
const options = {
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'none',
  validatorUrl: null,
  withCredentials: true,
}

/**
 * Starts the page. The document depends on the privileges of its reader, so the page fetches it again when credentials
 * are entered, and when a request to `/auth` has set or deleted the session cookie. Invalid credentials leave the
 * document as it is.
 *
 * The dialog for credentials has no field for the cookie, which browsers do not let pages send; they send it by themselves.
 * Swagger UI would focus the last of its fields.
 */
const script = (documentUrl: string): string => `'use strict'
const documentUrl = ${JSON.stringify(documentUrl)}
const credentials = () => {
  const headers = {}
  for (const { schema, value } of Object.values(ui.authSelectors.authorized().toJS())) {
    if (schema.type === 'apiKey' && schema.in === 'header') headers[schema.name] = value
    if (schema.type === 'http' && schema.scheme === 'bearer') headers.Authorization = 'Bearer ' + value
  }
  return headers
}
const refresh = async () => {
  const response = await fetch(documentUrl, { headers: credentials(), credentials: 'same-origin' })
  const text = await response.text()
  // Clears the error of an earlier refresh.
  ui.errActions.clear({ type: 'thrown' })
  if (response.ok) ui.specActions.updateSpec(text)
  else ui.errActions.newThrownErr(new Error('The credentials were refused: ' + JSON.parse(text).message))
}
const thenRefresh = (original) => (payload) => {
  const result = original(payload)
  void refresh()
  return result
}
const isCookie = (schemes, name) => schemes[name]?.in === 'cookie'
const withoutCookie = (text) => {
  let document
  try {
    document = JSON.parse(text)
  } catch {
    return text
  }
  const schemes = document?.components?.securitySchemes
  if (!schemes) return text
  for (const item of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(item)) {
      if (!Array.isArray(operation?.security)) continue
      operation.security = operation.security.filter((names) => !Object.keys(names).some((name) => isCookie(schemes, name)))
    }
  }
  for (const name of Object.keys(schemes)) if (isCookie(schemes, name)) delete schemes[name]
  return JSON.stringify(document)
}
const focusFirst = () => {
  const dialog = document.querySelector('.modal-ux-content')
  dialog?.querySelector('input')?.focus({ preventScroll: true })
  dialog?.scrollTo(0, 0)
}
const ui = SwaggerUIBundle({
  ...${JSON.stringify(options)},
  url: documentUrl,
  plugins: [
    () => ({
      statePlugins: {
        auth: {
          wrapActions: {
            authorize: thenRefresh,
            logout: thenRefresh,
            showDefinitions: (original) => (shown) => {
              const result = original(shown)
              // The dialog is drawn after the event.
              if (shown) setTimeout(focusFirst)
              return result
            },
          },
        },
        spec: { wrapActions: { updateSpec: (original) => (text) => original(withoutCookie(text)) } },
      },
    }),
  ],
  responseInterceptor: (response) => {
    if (/\\/auth\\/[^/]+$/.test(new URL(response.url, location.href).pathname)) void refresh()
    return response
  },
})
window.ui = ui
`

/**
 * Routes of the page: `GET /` and what it loads. All its URLs are relative, so that the router can be mounted anywhere,
 * also behind a proxy that changes the path.
 */
export function docsRouter({ documentUrl, links = [] }: DocsSettings): Router {
  const html = page(links)
  const router = exactRouter()
  const folder = require.resolve('swagger-ui-dist/swagger-ui.css').replace(/swagger-ui\.css$/, '')
  router.use((_request, response, next) => {
    response.set(headers)
    next()
  })
  router.get('/', (request, response) => {
    // Without the slash at the end of the path, relative URLs would resolve one level too high.
    const [path = ''] = request.originalUrl.split('?', 1)
    if (path.endsWith('/')) response.type('html').send(html)
    else response.redirect(`./${path.slice(path.lastIndexOf('/') + 1)}/`)
  })
  router.get('/reference.js', (_request, response) => {
    response.type('js').send(script(documentUrl))
  })
  router.get('/reference.css', (_request, response) => {
    response.type('css').send(style)
  })
  for (const asset of assets) {
    router.get(`/${asset}`, (_request, response) => {
      response.sendFile(asset, { root: folder, maxAge: '1h' })
    })
  }
  return router
}
