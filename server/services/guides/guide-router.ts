// The routes of the guides as pages: `GET /` is the README, or the result of a search with `?q=`; `GET /{topic}` is a guide.
import type { Request, Response, Router } from 'express'
import { lazy } from '../../common/lazy.ts'
import { exactRouter } from '../../http/exact-router.ts'
import type { PageLink } from './guide-page.ts'
import type { GuidePages } from './guide-pages.ts'
import { guideSecurityPolicy } from './guide-style.ts'

/** @param links to other pages of the server, relative to the first page */
export function guideRouter(links: readonly PageLink[]): Router {
  const pages = lazy(() => load(links))
  const router = exactRouter()
  router.get('/', async (request, response) => {
    const [path = ''] = request.originalUrl.split('?', 1)
    const search = request.originalUrl.slice(path.length)
    // Without the slash at the end of the path, relative links would lead one level too high.
    if (!path.endsWith('/')) {
      response.redirect(`./${path.slice(path.lastIndexOf('/') + 1)}/${search}`)
      return
    }
    const query = new URLSearchParams(search).get('q')?.trim() ?? ''
    const { guide, search: find, missing } = await pages()
    if (query !== '') send(response, 200, await find(query))
    else sendGuide(response, guide(''), () => missing('', ''))
  })
  router.get('/*topic', async (request: Request<{ readonly topic: readonly string[] }>, response) => {
    const { guide, missing } = await pages()
    const topic = request.params.topic.join('/')
    sendGuide(response, guide(topic), () => missing(topic, request.path.slice(1)))
  })
  return router
}

/** Few requests need the pages, and the package that reads Markdown: they are loaded at the first one. */
async function load(links: readonly PageLink[]): Promise<GuidePages> {
  const { readPages } = await import('./guide-pages.ts')
  return readPages(links)
}

const sendGuide = (response: Response, html: string | undefined, missing: () => string): void =>
  html === undefined ? send(response, 404, missing()) : send(response, 200, html)

/** Express adds the `ETag`, and responds to HEAD and to conditional requests. */
function send(response: Response, status: number, html: string): void {
  response
    .status(status)
    .set({
      'Content-Security-Policy': guideSecurityPolicy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-cache',
    })
    .type('html')
    .send(html)
}
