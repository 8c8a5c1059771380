// Tools for OpenAPI, over the document of the whole service and over PostgREST's.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Installation } from './support/installation.ts'
import { scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'

const server = await startServer(t)

/** Writes both documents into the folder, as a role sees them. */
async function writeDocuments(folder: string): Promise<void> {
  for (const [file, path] of [
    ['service.json', '/openapi.json'],
    ['rest.json', '/rest/v1/'],
  ] as const) {
    const response = await fetch(server.url + path, { headers: { apikey: server.secretKey } })
    await writeFile(join(folder, file), await response.text())
  }
}

type Failed = { readonly stdout: string; readonly stderr: string }

/** Runs a program that is expected to end well, and shows what it says otherwise. */
async function runs(t: Test, { run }: Installation, program: string, ...args: readonly string[]): Promise<string> {
  const failed = (error: unknown): string => {
    const { stdout, stderr } = error as Failed
    t.fail(`${program} ${args.join(' ')}\n${stdout}\n${stderr}`)
    return stdout
  }
  return run(program, args).then(({ stdout }) => stdout, failed)
}

const compiler = [
  '--strict',
  '--module',
  'nodenext',
  '--target',
  'es2022',
  '--lib',
  'es2023,dom,dom.iterable',
  '--types',
  'node',
]

await scenario(t, 'openapi-typescript', 'types from both documents, which compile', async (t, installation) => {
  await writeDocuments(installation.folder)
  await runs(t, installation, 'openapi-typescript', 'service.json', '--output', 'service.ts')
  // The tool reads OpenAPI 3 only.
  await runs(t, installation, 'swagger2openapi', 'rest.json', '--outfile', 'rest-3.json')
  await runs(t, installation, 'openapi-typescript', 'rest-3.json', '--output', 'rest.ts')
  await writeFile(
    join(installation.folder, 'use.ts'),
    `import type { components as Service, paths } from './service.ts'
import type { definitions } from './definitions.ts'
type Post = Service['schemas']['tables.posts']
const post: Post = { id: 1, author_id: 1, title: '', body: '', status: 'draft', rating: null, views: 1, labels: [], details: {}, published_at: null }
// @ts-expect-error a value of no enum
post.status = 'lost'
// @ts-expect-error not null
post.title = null
const insert: Service['schemas']['tables.posts.insert'] = { author_id: 1, title: '' }
// @ts-expect-error the title is required
const incomplete: Service['schemas']['tables.posts.insert'] = { author_id: 1 }
const rest: definitions = { id: 1, author_id: 1, title: '', body: '', status: 'draft', views: 1, labels: [], details: {} }
type Read = paths['/rest/v1/posts']['get']['responses'][200]['content']['application/json']
export const all: readonly unknown[] = [post, insert, incomplete, rest] satisfies [Read[number], ...unknown[]]
`,
  )
  await writeFile(
    join(installation.folder, 'definitions.ts'),
    "import type { components } from './rest.ts'\nexport type definitions = components['schemas']['posts']\n",
  )
  await runs(t, installation, 'tsc', '--noEmit', '--allowImportingTsExtensions', ...compiler, 'use.ts')
  return 'reads PostgREST’s document, which is OpenAPI 2.0, only after swagger2openapi'
})

await scenario(t, 'openapi-fetch', 'typed calls of tables, functions and accounts', async (t, installation) => {
  const { folder } = installation
  await writeDocuments(folder)
  await runs(t, installation, 'openapi-typescript', 'service.json', '--output', 'service.d.ts')
  await writeFile(
    join(folder, 'calls.ts'),
    `import createClient from 'openapi-fetch'
import type { paths } from './service.d.ts'

const { URL = '', KEY = '' } = process.env
const client = createClient<paths, 'application/json'>({ baseUrl: URL, headers: { apikey: KEY } })
const signedUp = await client.POST('/auth/v1/signup', { body: { email: 'ann@example.org', password: 'a long password' } })
const token: string | undefined = signedUp.data && 'access_token' in signedUp.data ? String(signedUp.data.access_token) : undefined
const headers = { Authorization: \`Bearer \${token}\` }

const list = await client.GET('/rest/v1/posts', {
  params: { query: { select: 'id,title,status', id: 'lte.3', order: 'id.desc' }, header: { Prefer: 'count=exact' } },
})
const titles: (string | undefined)[] | undefined = list.data?.map(({ title }) => title)
const one = await client.GET('/rest/v1/posts/{id}', { params: { path: { id: 5 } } })
const created = await client.POST('/rest/v1/posts', {
  headers,
  params: { header: { Prefer: 'return=representation' } },
  body: { title: 'Typed', author_id: 1 },
})
const changed = await client.PATCH('/rest/v1/posts', {
  headers,
  params: { query: { title: 'eq.Typed' }, header: { Prefer: 'return=representation' } },
  body: { views: 3 },
})
const removed = await client.DELETE('/rest/v1/posts', { headers, params: { query: { title: 'eq.Typed' } } })
const sum = await client.POST('/rest/v1/rpc/add', { body: { a: 1, b: 2 } })
const refused = await client.GET('/rest/v1/posts', { params: { query: { order: 'nothing' } } })
const code: string | undefined = refused.error?.code
// @ts-expect-error a table that is not there
await client.GET('/rest/v1/nothing')
console.log(
  JSON.stringify({
    range: list.response.headers.get('content-range'),
    titles,
    one: one.data,
    created: created.data,
    changed: changed.data,
    removed: removed.response.status,
    sum: sum.data,
    code,
  }),
)
`,
  )
  await runs(t, installation, 'tsc', '--noCheck', 'false', '--outDir', 'out', ...compiler, 'calls.ts')
  const { stdout } = await installation.run('node', ['out/calls.js'], { URL: server.url, KEY: server.publishableKey })
  t.match(JSON.parse(stdout), {
    range: '0-2/3',
    titles: ['Post 03', 'Post 02', 'Post 01'],
    one: { id: 5, title: 'Post 05', status: 'published' },
    created: [{ title: 'Typed', status: 'draft', views: 0 }],
    changed: [{ title: 'Typed', views: 3 }],
    removed: 204,
    sum: 3,
    code: '42703',
  })
})

await scenario(
  t,
  '@apidevtools/swagger-parser',
  'validates and dereferences both documents',
  async (t, { folder, load }) => {
    await writeDocuments(folder)
    type Parser = {
      readonly validate: (file: string) => Promise<{ openapi?: string; swagger?: string; paths: object }>
    }
    const { default: parser } = await load<{ default: Parser }>('@apidevtools/swagger-parser')
    const service = await parser.validate(join(folder, 'service.json'))
    t.match(service, { openapi: /^3\.1/, paths: { '/rest/v1/posts': { get: { operationId: 'posts.list' } } } })
    const rest = await parser.validate(join(folder, 'rest.json'))
    t.match(rest, { swagger: '2.0', paths: { '/posts': { get: {} }, '/rpc/add': { post: {} } } })
  },
)

await scenario(
  t,
  '@redocly/cli',
  'lints both documents by its rules of the specification, and by the recommended ones',
  async (t, installation) => {
    await writeDocuments(installation.folder)
    for (const file of ['service.json', 'rest.json'])
      await runs(t, installation, 'redocly', 'lint', '--extends=spec', file)
    // Matters of style: /docs/ and /rest/v1/ end with a slash, as they do in PostgREST.
    const style = [
      'no-path-trailing-slash',
      'info-license',
      'tag-description',
      'operation-4xx-response',
      'operation-2xx-response',
    ]
    const skipped = style.flatMap((rule) => ['--skip-rule', rule])
    const report = await runs(
      t,
      installation,
      'redocly',
      'lint',
      ...skipped,
      '--extends=recommended',
      '--format=json',
      'service.json',
    )
    const { problems } = JSON.parse(report.slice(report.indexOf('{'))) as {
      problems: readonly { readonly ruleId: string }[]
    }
    // Alternatives of a nested write name only what each requires; the properties are beside them.
    const nested = ['no-required-schema-properties-undefined', 'no-illogical-composition-keywords']
    t.strictSame(
      [...new Set(problems.map(({ ruleId }) => ruleId))].filter((rule) => !nested.includes(rule)),
      [],
    )
  },
)
