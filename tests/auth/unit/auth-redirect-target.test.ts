// Which URLs a sign-in may redirect to (GOTRUE_SITE_URL, GOTRUE_URI_ALLOW_LIST).
import t from 'tap'
import { RedirectTargets } from '../../../server/services/auth/redirect-target.ts'
import { UrlGlob, UrlGlobError } from '../../../server/services/auth/url-glob.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

type Case = readonly [url: string, isAllowed: boolean]

const globs: readonly (readonly [pattern: string, matching: readonly string[], other: readonly string[]])[] = [
  ['abc', ['abc'], ['', 'ab', 'abcd', 'ABC']],
  ['a*c', ['ac', 'abc', 'abbc', 'a?c'], ['a.c', 'a/c', 'acb']],
  ['a**c', ['ac', 'a.c', 'a/b/c', 'acc'], ['acb']],
  ['a***c', ['ac', 'a/./c'], ['a']],
  ['a?c', ['abc', 'a?c', 'a😀c'], ['ac', 'a.c', 'a/c', 'abbc']],
  ['[abc]', ['a', 'b', 'c'], ['d', '', 'ab']],
  ['[!abc]', ['d', '/'], ['a', '']],
  ['[a-c]', ['a', 'b', 'c'], ['d', '-']],
  ['[!a-c]', ['d', '-', '.'], ['b']],
  ['[ab-]', ['a', 'b', '-'], ['c']],
  ['[\\]a]', [']', 'a'], ['\\']],
  ['{a,b*}c', ['ac', 'bc', 'bxc'], ['c', 'b.c', 'abc']],
  ['{a,{b,c}d,}e', ['ae', 'bde', 'cde', 'e'], ['de', 'be']],
  ['a,b}', ['a,b}'], ['a', 'b']],
  ['\\*\\{', ['*{'], ['a{']],
  ['*.*', ['a.b', '.'], ['a.b.c', 'ab']],
  ['**/*', ['a/b/c', '/'], ['a']],
]

t.test('patterns match as in GoTrue', (t) => {
  for (const [pattern, matching, other] of globs) {
    const glob = new UrlGlob(pattern)
    for (const text of matching) t.ok(glob.matches(text), `${pattern} matches "${text}"`)
    for (const text of other) t.notOk(glob.matches(text), `${pattern} does not match "${text}"`)
  }
  t.end()
})

t.test('malformed patterns are named', (t) => {
  for (const pattern of ['[', '[a', '[]', '[!]', '[a-', '[c-a]', '[a-z0-9]', '{a', '{a,{b}', 'a\\', '[a\\'])
    t.throws(() => new UrlGlob(pattern), new UrlGlobError(), pattern)
  t.throws(() => new RedirectTargets({ siteUrl: 'https://a.test', allowList: ['https://[a-z0-9].test'] }), {
    message: 'The pattern "https://[a-z0-9].test" is malformed: a class has one range, or a list of characters.',
  })
  t.end()
})

t.test('a hostile URL does not make matching slow', (t) => {
  const glob = new UrlGlob(`${'**a'.repeat(30)}b`)
  t.notOk(glob.matches('a'.repeat(5000)))
  t.end()
})

function table(name: string, siteUrl: string, allowList: readonly string[], cases: readonly Case[]): void {
  void t.test(name, (t) => {
    const targets = new RedirectTargets({ siteUrl, allowList })
    for (const [url, isAllowed] of cases) t.equal(targets.isAllowed(url), isAllowed, url)
    t.end()
  })
}

table(
  'the site',
  'https://example.com',
  [],
  [
    ['https://example.com', true],
    ['https://example.com/', true],
    ['https://example.com/path?a=1#b', true],
    ['https://example.com?a=1', true],
    ['https://EXAMPLE.com/', true],
    ['HTTPS://example.com/', true],
    ['https://example.com:443/path', true],
    ['https://example.com:/path', true],
    ['http://example.com/path', false],
    ['https://example.com:8443/path', false],
    ['https://www.example.com/', false],
    ['https://example.com.', false],
    ['https://example.com.evil.test/', false],
    ['https://example.comevil.test/', false],
    ['https://example.com@evil.test/', false],
    ['https://evil.test@example.com/', false],
    ['https://:@example.com/', false],
    ['https://example.com:443@evil.test/', false],
    ['https://evil.test/https://example.com/', false],
    ['https://evil.test?https://example.com/', false],
    ['https://evil.test#https://example.com/', false],
    ['https://evil.test\\@example.com/', false],
    ['https://example.com\\@evil.test/', false],
    ['https:\\\\example.com/', false],
    ['https:/example.com/', false],
    ['https:///example.com/', false],
    ['https:example.com', false],
    ['//example.com/', false],
    ['/path', false],
    ['', false],
    ['example.com', false],
    [' https://example.com/', false],
    ['https://example.com/ ', false],
    ['https://example.com/a b', false],
    ['https://exam\tple.com/', false],
    ['https://example.com/\r\nSet-Cookie: a=b', false],
    ['https://example.com/\u0000', false],
    ['https://example.com/\u2028', false],
    ['https://ex\u00adample.com/', false],
    ['https://example\u3002com/', false],
    ['https://ex%61mple.com/', false],
    ['https://example.com:99999/', false],
    ['https://example.com:port/', false],
    ['javascript:alert(1)', false],
    ['javascript://example.com/%0aalert(1)', false],
    ['data:text/html,example.com', false],
  ],
)

table(
  'a site with a port',
  'https://example.com:9000',
  [],
  [
    ['https://example.com:9000/path', true],
    ['https://example.com:09000/path', true],
    ['https://example.com/path', false],
    ['https://example.com:9001/path', false],
  ],
)

table(
  'a site on localhost',
  'http://localhost:3000',
  [],
  [
    ['http://localhost:8080/callback', true],
    ['http://localhost/callback', true],
    ['https://localhost:3000/', false],
    ['http://sub.localhost:3000/', false],
  ],
)

t.test('a site on this machine that nobody has chosen', (t) => {
  const cases: readonly (readonly [siteUrl: string, url: string, isAllowed: boolean])[] = [
    ['http://127.0.0.1:3000', 'http://localhost:8080/page', true],
    ['http://127.0.0.1:3000', 'https://localhost:8080/page', true],
    ['http://[::1]:3000', 'http://localhost/', true],
    ['http://localhost:3000', 'https://LOCALHOST:8080/', true],
    ['http://127.0.0.1:3000', 'http://sub.localhost:8080/', false],
    ['http://127.0.0.1:3000', 'http://localhost.evil.test/', false],
    ['http://127.0.0.1:3000', 'http://localhost@evil.test/', false],
    ['http://127.0.0.1:3000', 'javascript://localhost/%0aalert(1)', false],
    ['http://127.0.0.1:3000', 'com.example.app://localhost/', false],
    ['http://192.168.1.10:3000', 'http://localhost:8080/', false],
    ['https://example.com', 'http://localhost:8080/', false],
  ]
  for (const [siteUrl, url, isAllowed] of cases) {
    const targets = new RedirectTargets({ siteUrl, allowList: [], isDefaultSite: true })
    t.equal(targets.isAllowed(url), isAllowed, `${siteUrl} to ${url}`)
  }
  const chosen = new RedirectTargets({ siteUrl: 'http://127.0.0.1:3000', allowList: [] })
  t.notOk(chosen.isAllowed('http://localhost:8080/page'), 'a chosen site')
  t.end()
})

table(
  'a site on a subdomain of localhost',
  'http://app.localhost:3000',
  [],
  [
    ['http://app.localhost:8080/', true],
    ['http://localhost:3000/', false],
  ],
)

table(
  'a site with an IP address',
  'http://192.168.1.10:3000',
  [],
  [
    ['http://192.168.1.10:3000/path', true],
    ['http://192.168.1.10:3001/path', false],
    ['http://192.168.1.11:3000/path', false],
    ['http://3232235786:3000/path', false],
  ],
)

table(
  'a site with a scheme of its own',
  'com.example.app://callback',
  [],
  [
    ['com.example.app://callback', true],
    ['com.example.app://callback/deep?code=1', true],
    ['com.example.app://other', false],
    ['com.example.other://callback', false],
  ],
)

table(
  'IP addresses',
  'https://example.com',
  ['**', 'http://*', 'http://**'],
  [
    ['http://127.0.0.1/', true],
    ['http://127.0.0.1:12345/path', true],
    ['https://127.8.9.10/', true],
    ['http://[::1]/', true],
    ['http://[0:0:0:0:0:0:0:1]:12345/path', true],
    ['http://[::ffff:127.0.0.1]/', true],
    ['http://10.0.0.1/', false],
    ['http://169.254.169.254/', false],
    ['http://0.0.0.0/', false],
    ['http://[::]/', false],
    ['http://[::2]/', false],
    ['http://[fe80::1]/', false],
    ['http://[::ffff:10.0.0.1]/', false],
    ['http://123/', false],
    ['http://2130706433/', false],
    ['http://0x7f000001/', false],
    ['http://0x7f.1/', false],
    ['http://127.1/', false],
    ['http://0177.0.0.1/', false],
    ['http://1.2.3.4.5/', false],
    ['http://127.0.0.1@evil.test/', false],
    ['exp://192.168.1.5:19000/--/', false],
    ['exp://127.0.0.1:19000/--/', true],
    ['http://127.0.0.1.nip.io/', true],
  ],
)

table(
  'patterns',
  'https://example.com',
  [
    'http://localhost:8000/*',
    'http://*.localhost:8000/*',
    'http://*:12345/*',
    'http://**:12345/*',
    'https://*.preview.test/**',
    'https://shop.test/account/**',
    'com.example.app://**',
    'myapp:callback?*',
  ],
  [
    ['http://localhost:8000/path', true],
    ['http://localhost:8000/path#fragment/with/slashes', true],
    ['http://localhost:8000/path?param=1', true],
    ['http://localhost:3000', false],
    ['http://localhost:8000', false],
    ['http://localhost:8000/path/to/page', false],
    ['http://123?.localhost:8000/path', false],
    ['http://evil?.localhost:8000/path', false],
    ['http://evil#.localhost:8000/path', false],
    ['http://evil/.localhost:8000/path', false],
    ['http://evil@a.localhost:8000/path', false],
    ['http://a.localhost:8000/path', true],
    ['http://a.b.localhost:8000/path', false],
    ['http://123.123.123.123?localhost:8000/path', false],
    ['http://[65e7:9410:d8b6:e227:58cd:e55b:8fc0:206d]?localhost:8000/path', false],
    ['http://65e7:9410:d8b6:e227:58cd:e55b:8fc0:206d?localhost:8000/path', false],
    ['http://any:12345/path', true],
    ['http://a.b.c:12345/path', true],
    ['https://pr-1.preview.test/deep/path?x=1', true],
    ['https://pr-1.preview.test', false],
    ['https://preview.test/', false],
    ['https://a.pr-1.preview.test/', false],
    ['https://evil.test/.preview.test/', false],
    ['https://evil?.preview.test/', false],
    ['https://pr_1.preview.test/', false],
    ['https://b\u00fccher.preview.test/', false],
    ['https://xn--bcher-kva.preview.test/', true],
    ['https://-a.preview.test/', false],
    ['https://shop.test/account/', true],
    ['https://shop.test/account/a/b', true],
    ['https://shop.test/account/../logout', false],
    ['https://shop.test/account/%2e%2E/logout', false],
    ['https://shop.test/account/.hidden', true],
    ['https://shop.test/other', false],
    ['com.example.app://callback?x=1', true],
    ['COM.example.app://callback', false],
    ['myapp:callback?code=1', true],
    ['myapp:other', false],
  ],
)

table(
  'a pattern for everything',
  'https://example.com',
  ['**'],
  [
    ['https://anything.test/', true],
    ['myapp://', true],
    ['javascript:alert(1)', false],
    ['JavaScript://127.0.0.1/%0aalert(1)', false],
    ['vbscript:x', false],
    ['data:text/html,x', false],
    ['blob:https://example.com/1', false],
    ['file:///etc/passwd', false],
    ['about:blank', false],
    ['intent://127.0.0.1#Intent;end', false],
    ['java\tscript:alert(1)', false],
    ['//evil.test/', false],
    ['/relative', false],
    ['https://user:password@anything.test/', false],
  ],
)

t.test('the target of a request comes first, then the page, then the site', (t) => {
  const targets = new RedirectTargets({ siteUrl: 'https://example.com/home', allowList: ['https://a.test/*'] })
  t.equal(targets.choose('https://a.test/x', 'https://a.test/y'), 'https://a.test/x')
  t.equal(targets.choose('https://evil.test/', 'https://a.test/y'), 'https://a.test/y')
  t.equal(targets.choose(undefined, 'https://example.com/page'), 'https://example.com/page')
  t.equal(targets.choose('', 'https://evil.test/'), 'https://example.com/home')
  t.equal(targets.choose(undefined, undefined), 'https://example.com/home')
  t.end()
})

t.test('property: what is allowed leads, in a browser, to an allowed origin', (t) => {
  const targets = new RedirectTargets({
    siteUrl: 'https://example.com',
    allowList: ['https://*.preview.test/**', 'http://localhost:8000/*', 'https://shop.test/account/**'],
  })
  const isExpected = ({ protocol, hostname, port, username, password, pathname }: URL): boolean => {
    if (username !== '' || password !== '') return false
    if (protocol === 'https:' && hostname === 'example.com' && port === '') return true
    if (/^(127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])$/.test(hostname)) return true
    if (protocol === 'https:' && /^[a-z0-9-]+\.preview\.test$/.test(hostname) && port === '') return true
    if (protocol === 'https:' && hostname === 'shop.test' && port === '') return pathname.startsWith('/account/')
    return protocol === 'http:' && hostname === 'localhost' && port === '8000' && /^\/[^/]*$/.test(pathname)
  }
  const pieces = [
    ['https', 'http', 'HTTPS', 'javascript', 'data', 'ftp', 'file', 'myapp', '', ' https', 'https:https'],
    ['://', '://', '://', ':', ':/', ':///', ':\\\\', '//', ':/\\', ':\t//'],
    ['', '', '', '', 'user@', 'example.com@', 'example.com:443@', ':@', 'a%40', '@', 'pr.preview.test\\@'],
    [
      'example.com',
      'evil.test',
      'pr.preview.test',
      'localhost',
      'shop.test',
      '127.0.0.1',
      '[::1]',
      '10.0.0.1',
      '127.1',
    ],
    ['', '', '', '', '.', '.evil.test', ':443', ':80', ':8000', ':0', '%2eevil.test', '\u3002evil.test', '?', '#', '/'],
    ['', '', '.preview.test', '@example.com', ':8000', 'example.com'],
    ['/', '', '/account/', '/account/../', '/account/%2e%2e/x', '//evil.test/', '/\\evil.test', '?x=', '#x', '/a\nb'],
    ['', '', 'path', '#https://example.com/', '?https://pr.preview.test/', '/..//evil.test', '.preview.test/'],
  ]
  const noise = [
    '\\',
    '/',
    '@',
    ':',
    '?',
    '#',
    '.',
    '%',
    '\t',
    '\n',
    '\r',
    '\0',
    ' ',
    '[',
    ']',
    '%00',
    '%2f',
    '\u00a0',
    '\uff0f',
    '..',
  ]
  const random = seededRandom(testSeed(20261122))
  // The first pieces of each list are the likeliest ones.
  const pick = (list: readonly string[]): string => list[Math.floor(random.next() ** 2 * list.length)] ?? ''
  let allowed = 0
  for (let round = 0; round < 200_000; round += 1) {
    let url = pieces.map(pick).join('')
    for (let times = random.below(3); times > 0; times -= 1) {
      const at = random.below(url.length + 1)
      url = url.slice(0, at) + pick(noise) + url.slice(at)
    }
    if (!targets.isAllowed(url)) continue
    allowed += 1
    if (!URL.canParse(url) || !isExpected(new URL(url))) t.fail(JSON.stringify(url))
  }
  t.ok(allowed > 1000, `${String(allowed)} allowed URLs were among them`)
  t.end()
})
