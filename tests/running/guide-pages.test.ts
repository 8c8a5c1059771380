// The guides as pages: every one is rendered, and all that it links to exists.
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import t, { type Test } from 'tap'
import { guideHtml, sectionsOf } from '../../server/services/guides/guide-html.ts'
import { guideRouter } from '../../server/services/guides/guide-router.ts'
import { readGuides } from '../../server/services/guides/guides.ts'

const app = express()
app.use('/prefix/docs/guide', guideRouter([{ text: 'API reference', href: '../' }]))
const server = createServer(app)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => server.close())
const { port } = server.address() as AddressInfo

const guides = await readGuides()
const home = '/prefix/docs/guide/'

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }

/** Sends a request without following redirects or normalising the path. */
const get = (path: string, { method = 'GET', headers = {} } = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      )
    })
    request.on('error', reject)
    request.end()
  })

const attributes = (html: string, name: string): readonly string[] =>
  Array.from(html.matchAll(new RegExp(`<[^>]* ${name}="([^"]*)"`, 'g')), ([, value = '']) => value)

/** A page loads nothing, runs nothing, and is inert where text looks like HTML. */
function isHarmless(t: Test, { headers, body }: Answer, name: string): void {
  const policy = String(headers['content-security-policy'])
  t.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; /, name)
  t.notMatch(policy, /unsafe|script/, name)
  t.notMatch(body, /<(?:script|img|iframe|link|svg|object|base)\b|<\w[^<>]*\son\w+=|"javascript:/i, name)
  t.match(headers, { 'content-type': /^text\/html/, 'x-content-type-options': 'nosniff' }, name)
}

t.test('each guide is a page, and each of its links and anchors leads somewhere', async (t) => {
  const pages = new Map<string, string>()
  for (const topic of ['', ...guides.map((guide) => guide.topic)]) {
    const answer = await get(home + topic)
    t.equal(answer.status, 200, topic)
    isHarmless(t, answer, topic)
    pages.set(home + topic, answer.body)
  }
  t.ok(pages.size > 40)
  const anchors = new Map([...pages].map(([path, html]) => [path, attributes(html, 'id')]))
  for (const [path, ids] of anchors) t.equal(new Set(ids).size, ids.length, `${path} has no id twice`)
  const outside = new Set<string>()
  for (const [path, html] of pages)
    for (const href of attributes(html, 'href')) {
      const { origin, pathname, hash } = new URL(href, `http://rowhouse.test${path}`)
      if (origin !== 'http://rowhouse.test' || pathname === '/prefix/docs/') {
        outside.add(origin)
        continue
      }
      t.ok(pages.has(pathname), `${path}: ${href}`)
      if (hash !== '') t.ok(anchors.get(pathname)?.includes(hash.slice(1)), `${path}: ${href}`)
    }
  t.notOk([...outside].some((origin) => !/^https?:/.test(origin)))
})

t.test('the contents have every guide once', async (t) => {
  for (const [path, below] of [
    [home, ''],
    [`${home}running/overload`, '../'],
  ] as const) {
    const [, contents = ''] = /<nav class="contents"([^]*)<\/nav>/.exec((await get(path)).body) ?? []
    const links = attributes(contents, 'href').filter((href) => !href.startsWith('#'))
    t.strictSame([...links].sort(), guides.map(({ topic }) => below + topic).sort(), path)
    t.notMatch(contents, 'read more', 'each is in a group of the README')
  }
  t.match((await get(`${home}rest/batch`)).body, /<a href="\.\.\/rest\/batch" aria-current="page">/)
})

t.test('conditional requests, HEAD, and addresses that are nearly right', async (t) => {
  const { headers, body } = await get(`${home}start`)
  const again = await get(`${home}start`, { headers: { 'If-None-Match': headers.etag } })
  t.match(again, { status: 304, body: '' })
  const head = await get(`${home}start`, { method: 'HEAD' })
  t.match(head, { status: 200, body: '', headers: { 'content-length': String(Buffer.byteLength(body)) } })
  t.match(await get('/prefix/docs/guide'), { status: 302, headers: { location: './guide/' } })
  t.match(await get('/prefix/docs/guide?q=a?b'), { status: 302, headers: { location: './guide/?q=a?b' } })
  t.match(await get(`${home}batch`), { status: 404, body: /Did you mean:<\/p>\n<ul>\n<li><a href="rest\/batch">/ })
  t.match(await get(`${home}rest/bach`), { status: 404, body: /<li><a href="\.\.\/rest\/batch">/ })
  t.match(await get(`${home}rest/batch/`), { status: 404, body: /<li><a href="\.\.\/\.\.\/rest\/batch">/ })
})

t.test('hostile topics', async (t) => {
  const long = 'x'.repeat(10_000)
  for (const topic of [
    '../../../package.json',
    '..%2f..%2fpackage.json',
    '%2e%2e/%2e%2e/README',
    'rest%2fbatch/%00',
    '%00',
    'README.md',
    'rest/batch/README.md',
    '__proto__',
    'constructor',
    '%3Cscript%3Ealert(1)%3C/script%3E',
    '%22%20onload=%22alert(1)',
    long,
    '/'.repeat(10_000),
    'a/'.repeat(5000),
  ]) {
    const answer = await get(home + topic)
    t.equal(answer.status, 404, topic.slice(0, 50))
    isHarmless(t, answer, topic.slice(0, 50))
    t.ok(answer.body.length < 20_000, 'an answer is no longer for a long path')
  }
  t.equal((await get(`${home}%zz`)).status, 400)
})

t.test('the search finds sections by their words', async (t) => {
  const cookies = await get(`${home}?q=${encodeURIComponent('  session_SECRETS Cookies ')}`)
  t.match(cookies.body, /<div class="hit">\n<a href="config\/sessions#cookies">Settings of sessions: Cookies<\/a>\n<p>/)
  t.match(cookies.body, /<mark>SESSION_SECRETS<\/mark>/)
  t.match((await get(`${home}?q=with+your+own+database`)).body, '<a href="./#with-your-own-database">')
  t.match((await get(`${home}?q=xyzzy`)).body, 'No guide contains all these words.')
  t.match((await get(`${home}?q=+`)).body, '<h1 id="rowhouse">', 'without words, the first page is shown')
  for (const { title, topic } of guides) {
    const { body } = await get(`${home}?q=${encodeURIComponent(title)}`)
    t.ok(
      attributes(body.split('<nav')[0] ?? '', 'href').some((href) => href.startsWith(`${topic}#`)),
      title,
    )
  }
})

t.test('hostile queries', async (t) => {
  const script = '<script>alert(1)</script>'
  for (const query of [
    script,
    `"><img src=x onerror=alert(1)>`,
    `'"&<`,
    '(a+)+$[\\',
    '\0',
    '\u{10ffff}',
    script.repeat(400),
    'a '.repeat(2500),
    'ab'.repeat(4000),
  ]) {
    const answer = await get(`${home}?q=${encodeURIComponent(query).slice(0, 12_000).replace(/%.?$/, '')}`)
    t.equal(answer.status, 200)
    isHarmless(t, { ...answer, body: answer.body.replace(/value="[^"<>]*"/, '') }, query.slice(0, 30))
    t.ok(answer.body.length < 40_000, 'an answer is no longer for a long query')
  }
  t.equal((await get(`${home}?q=a&q=b&q[x]=c&q=%zz`)).status, 200)
})

t.test('Markdown', (t) => {
  const html = (markdown: string): string => guideHtml(markdown, (href) => (href === 'x.md' ? '../x' : undefined))
  t.match(html('<b onclick="x">a</b>'), '&lt;b onclick=&#34;x&#34;&gt;a&lt;/b&gt;')
  t.equal(html('<script>alert(1)</script>\n'), '&lt;script&gt;alert(1)&lt;/script&gt;\n')
  t.equal(html('[a](x.md) [b](y.ts) ![c](z.png)'), '<p><a href="../x">a</a> b c</p>\n')
  t.match(html('`<i>`\n\n    <u>'), /<code>&lt;i&gt;<\/code>[^]*<pre><code>&lt;u&gt;/)
  t.equal(html('<!-- recipe -->\n\nText\n\n<!-- /recipe -->\n'), '<p>Text</p>\n', 'marks of recipes are left out')
  t.match(html('# A `b`, c\n\n## D\n\n## D'), /<h1 id="a-b-c">[^]*<h2 id="d">[^]*<h2 id="d-1">/)
  t.strictSame(
    sectionsOf('# A `b`\n\nText\n\n```sh\n# no heading\n```\n\n## C\n\n## C\n').map(({ title, anchor }) => [
      title,
      anchor,
    ]),
    [
      ['A b', 'a-b'],
      ['C', 'c'],
      ['C', 'c-1'],
    ],
  )
  t.end()
})
