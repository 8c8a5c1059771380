// The error codes of the services: each is declared once, in the table of its service, and nothing else raises errors.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { errorCodes } from '../../../server/rest/error-codes.ts'
import { authErrorCodes } from '../../../server/services/auth/auth-error-codes.ts'
import { storageErrorCodes } from '../../../server/services/storage/storage-error-codes.ts'
import { errorsPage, pagePath } from '../../support/errors-page.ts'

type File = { readonly path: string; readonly text: string }

/** The TypeScript and SQL files of the service, with paths such as `server/rest/errors.ts`. */
const files: readonly File[] = ['server', 'sql'].flatMap((folder) => {
  const root = fileURLToPath(new URL(`../../../${folder}`, import.meta.url))
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:ts|sql)$/.test(path))
    .map((path) => ({ path: `${folder}/${path.replaceAll('\\', '/')}`, text: readFileSync(`${root}/${path}`, 'utf8') }))
})

const restTable = 'server/rest/error-codes.ts'
/** The files whose functions create the errors of `/rest/v1`. */
const constructors: readonly string[] = [
  'server/rest/errors.ts',
  'server/rest/extension-errors.ts',
  'server/rest/extensions/batch/batch-errors.ts',
  'server/rest/extensions/nested-writes/nested-errors.ts',
  'server/rest/extensions/keyset-pages/page-errors.ts',
]
/** The files that create errors with other codes: copies, PostgreSQL's codes, and those that SQL raises. */
const withOtherCodes: readonly string[] = [
  'server/rest/api-error.ts',
  'server/rest/extensions/batch/batch-errors.ts',
  'server/rest/errors.ts',
  'server/rest/sql-errors.ts',
]

const inService = (name: string): readonly File[] =>
  files.filter(({ path }) => path.startsWith(`server/services/${name}/`) && !path.endsWith('-error-codes.ts'))

/** All matches in the files, as `path: match`, sorted. */
const found = (pattern: RegExp, among = files): readonly string[] =>
  among.flatMap(({ path, text }) => [...text.matchAll(pattern)].map(([match]) => `${path}: ${match}`)).sort()

const pathsWith = (pattern: RegExp): readonly string[] =>
  files
    .filter(({ text }) => pattern.test(text))
    .map(({ path }) => path)
    .sort()

const textOf = (among: readonly File[]): string => among.map(({ text }) => text).join('\n')

t.test('the page of all codes is current', async (t) => {
  const page = readFileSync(pagePath, 'utf8')
  t.equal(page, await errorsPage(), 'otherwise: npm run docs:errors')
  for (const table of [errorCodes, authErrorCodes, storageErrorCodes]) {
    for (const code of Object.keys(table)) t.match(page, new RegExp(`^#### ${code}$|^- \`${code}\` \\(`, 'm'), code)
  }
  t.ok(page.length <= 30_000)
})

t.test('the tables declare each code once', (t) => {
  const entry = /^ {2}(\w+): [[{]/gm
  for (const [path, table] of [
    [restTable, errorCodes],
    ['server/services/auth/auth-error-codes.ts', authErrorCodes],
    ['server/services/storage/storage-error-codes.ts', storageErrorCodes],
  ] as const) {
    const text = files.find((file) => file.path === path)?.text ?? ''
    t.strictSame(
      [...text.matchAll(entry)].map(([, code]) => code),
      Object.keys(table),
      path,
    )
  }
  t.end()
})

t.test('every code of the REST API in TypeScript and SQL is in the table', (t) => {
  const others = files.filter(({ path }) => path !== restTable)
  const unknown = found(/\bPGRST(?:\d{3}|X\d{2})\b/g, others).filter((it) => !((it.split(': ')[1] ?? '') in errorCodes))
  t.strictSame(unknown, [])
  t.end()
})

t.test('every code of the REST API is raised', (t) => {
  const text = textOf(files.filter(({ path }) => constructors.includes(path)))
  t.strictSame(
    Object.keys(errorCodes).filter((code) => !text.includes(`'${code}'`)),
    [],
  )
  t.end()
})

t.test('errors of the REST API are created nowhere else', (t) => {
  t.strictSame(pathsWith(/\bapiError\(['\w]/), constructors.toSorted())
  t.strictSame(pathsWith(/\bnew ApiError\(/), withOtherCodes.toSorted())
  t.strictSame(found(/\bcode: ['"`]PGRST\w*/g), [])
  t.end()
})

t.test('every code of /auth/v1 is raised, with the statuses of the table', (t) => {
  const among = [...inService('auth'), ...files.filter(({ path }) => path.startsWith('sql/'))]
  const text = textOf(among)
  const unused = Object.keys(authErrorCodes).filter((code) => {
    const ofType = code.replace(/^mfa_(?:totp|phone|webauthn)_(?=(?:enroll|verify)_not)/, 'mfa_${type}_')
    return !text.includes(`'${code}'`) && !text.includes(`\`${ofType}\``)
  })
  t.strictSame(unused, [])
  const statuses: Readonly<Record<string, readonly [readonly number[], string]>> = authErrorCodes
  const raised = [
    ...text.matchAll(/(?:new AuthError|auth\.fail)\(\s*(\d{3}),\s*'(\w+)'/g),
    ...text.matchAll(/auth\.session_error\(\s*'(?<code>\w+)'/g),
  ].map(({ 1: status, 2: code, groups }) => (groups ? ['400', groups.code] : [status, code]))
  t.ok(raised.length > 70)
  t.strictSame(
    raised.filter(([status, code = '']) => statuses[code]?.[0].includes(Number(status)) !== true),
    [],
  )
  t.end()
})

t.test('every code of /storage/v1 is raised, with the statuses of the table', (t) => {
  const text = textOf(inService('storage'))
  const statuses: Readonly<Record<string, readonly [readonly number[], string]>> = storageErrorCodes
  const raised = [...text.matchAll(/new StorageError\(\s*(\d{3}),\s*'(\w+)'/g)].map(([, status, code]) => [
    status,
    code,
  ])
  t.strictSame(new Set(raised.map(([, code]) => code)), new Set(Object.keys(storageErrorCodes)))
  t.strictSame(
    raised.filter(([status, code = '']) => statuses[code]?.[0].includes(Number(status)) !== true),
    [],
  )
  t.end()
})
