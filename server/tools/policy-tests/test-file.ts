// Reads the files with policy tests: YAML or JSON, checked against a JSON Schema.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { isMap, isNode, isScalar, LineCounter, parseDocument, type Document } from 'yaml'
import { compareText } from '../../text/code-point-order.ts'
import { nearestName } from '../../text/nearest-name.ts'

/** A role with claims, an account by its address, or an API key. */
export type CallerFields = {
  readonly role?: string
  readonly claims?: Readonly<Record<string, unknown>>
  readonly email?: string
  readonly key?: string
}

/** Who sends the request of a test. A text is a name of the file, an address, a key or a role. */
export type CallerName = string | CallerFields

export type ExpectedError = { readonly code: string | undefined; readonly message: string | undefined }

/** Where something is in a file. Lines are counted from 1. */
export type Place = { readonly file: string; readonly line: number }

export type PolicyTest = Place & {
  readonly name: string
  readonly as: CallerName
  /** SQL that runs first, as the owner of the database. */
  readonly given: string | undefined
  readonly method: string
  /** Path and query string. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  /** Undefined: the request has no body. */
  readonly body: unknown
  readonly status: number | undefined
  readonly rows: readonly unknown[] | number | undefined
  readonly error: ExpectedError | undefined
}

/**
 * `update all` and `delete all` have no filter: policies for reading do not apply to them. `move` gives all rows that the
 * caller may update the value of another row, in a column that policies compare.
 */
export const matrixCommands = ['select', 'insert', 'update', 'update all', 'delete', 'delete all', 'move'] as const
export type MatrixCommand = (typeof matrixCommands)[number]

export type Keys = readonly (string | number)[]
/**
 * What a caller can do with the rows of a table: their keys or their number; the code of an error that refuses the
 * command as a whole; or both for several kinds of errors, with the keys that are possible as `allowed`.
 */
export type Cell = string | number | Keys | Readonly<Record<string, Keys | number>>

export type MatrixCell = Place & {
  /** As in the file: `public.tasks`. */
  readonly table: string
  readonly command: MatrixCommand
  readonly as: string
  readonly expected: Cell
}

export type Accepted = Place & { readonly mutant: string; readonly reason: string }

export type TestFile = {
  readonly path: string
  readonly callers: Readonly<Record<string, CallerFields>>
  readonly tests: readonly PolicyTest[]
  readonly matrix: readonly MatrixCell[]
  readonly accepted: readonly Accepted[]
}

/** A file cannot be read. The message has one line for each fault, with file and line. */
export class TestFileError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'TestFileError'
  }
}

/** The same relative path is valid from `server/tools/policy-tests/` and from the compiled file. */
const schemaFile = fileURLToPath(new URL('../../../schemas/files/policy-tests.json', import.meta.url))

/**
 * Reads all files of a folder: `*.yaml`, `*.yml` and `*.json`, in the order of their names.
 *
 * @param folder as the user wrote it: the paths of the files begin with it
 * @throws TestFileError with all faults of all files
 */
export async function readTestFiles(folder: string): Promise<readonly TestFile[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const validate = await compileSchema()
  const faults: string[] = []
  const files: TestFile[] = []
  for (const name of names.filter((it) => /\.(?:ya?ml|json)$/.test(it)).sort(compareText)) {
    const path = join(folder, name)
    try {
      files.push(parseTestFile(path, await readFile(path, 'utf8'), validate))
    } catch (error) {
      if (!(error instanceof TestFileError)) throw error
      faults.push(error.message)
    }
  }
  if (faults.length > 0) throw new TestFileError(faults.join('\n'))
  return files
}

/** Compiles the JSON Schema of the files. */
export async function compileSchema(): Promise<ValidateFunction> {
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, strictRequired: false, verbose: true })
  return ajv.compile(JSON.parse(await readFile(schemaFile, 'utf8')) as object)
}

/**
 * Parses one file.
 *
 * @param path for messages
 * @throws TestFileError with all faults of the file
 */
export function parseTestFile(path: string, text: string, validate: ValidateFunction): TestFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const lineOf = (offset: number): number => lines.linePos(offset).line
  if (document.errors.length > 0) {
    throw new TestFileError(
      document.errors.map(({ message, pos }) => `${path}:${lineOf(pos[0])}: ${message}`).join('\n'),
    )
  }
  const content: unknown = document.toJS() ?? {}
  const source: Source = { path, document, lineOf }
  if (!validate(content)) throw new TestFileError(faultsOf(source, validate.errors ?? []))
  return contentOf(source, content as Content)
}

type Source = { readonly path: string; readonly document: Document; readonly lineOf: (offset: number) => number }
type Steps = readonly (string | number)[]

/** The first line of a value, or of the innermost value around it that exists. */
function lineAt({ document, lineOf }: Source, steps: Steps): number {
  for (let length = steps.length; length > 0; length--) {
    const parent: unknown = length === 1 ? document.contents : document.getIn(steps.slice(0, length - 1), true)
    const last = steps[length - 1]
    const pair = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === last) : undefined
    const node: unknown = pair ? pair.key : document.getIn(steps.slice(0, length), true)
    if (isNode(node) && node.range) return lineOf(node.range[0])
  }
  return 1
}

function faultsOf(source: Source, errors: readonly ErrorObject[]): string {
  // The errors of the alternatives say more than that none of them matches.
  const isVague = ({ keyword, instancePath }: ErrorObject): boolean =>
    keyword === 'anyOf' && !/^\/tests\/\d+$/.test(instancePath)
  const isAlternative = ({ schemaPath }: ErrorObject): boolean => /\/anyOf\/\d+\/required$/.test(schemaPath)
  const lines = errors
    .filter((error) => !isAlternative(error) && !isVague(error))
    .map((error) => {
      const steps = error.instancePath.split('/').slice(1).map(unescaped)
      const [where, what] = describe(error, steps)
      return `${source.path}:${lineAt(source, where)}: ${what}`
    })
  return [...new Set(lines)].join('\n')
}

const unescaped = (step: string): string | number =>
  /^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')

/** Where the fault is, and what is wrong and allowed. */
function describe({ keyword, params, message, parentSchema }: ErrorObject, steps: Steps): readonly [Steps, string] {
  const at = steps.length === 0 ? 'the file' : steps.join('.')
  const given = params as Readonly<Record<string, unknown>>
  switch (keyword) {
    case 'additionalProperties': {
      const name = String(given.additionalProperty)
      const known = Object.keys((parentSchema as { properties?: object } | undefined)?.properties ?? {})
      const nearest = nearestName(name, known)
      const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`
      return [[...steps, name], `${at} has no property "${name}".${hint} Allowed are ${known.join(', ')}.`]
    }
    case 'required':
      return [steps, `${at} needs the property "${String(given.missingProperty)}".`]
    case 'anyOf':
      return [steps, `${at} expects nothing. It needs at least one of status, rows, error.`]
    case 'pattern':
      return [steps, `${at} must be a method and a path, such as: GET /rest/v1/tasks?select=id`]
    case 'type': {
      const types = Array.isArray(given.type) ? given.type.join(' or ') : String(given.type)
      return [steps, `${at} must be ${types === 'array' ? 'a list' : types.replace('array', 'list')}.`]
    }
    default:
      return [steps, `${at} ${message ?? 'is not valid'}.`]
  }
}

/** A file that matches the JSON Schema. */
type Content = {
  readonly callers?: TestFile['callers']
  readonly tests?: readonly WrittenTest[]
  readonly matrix?: Readonly<Record<string, Partial<Record<MatrixCommand, Readonly<Record<string, Cell>>>>>>
  readonly accepted?: readonly { readonly mutant: string; readonly reason: string }[]
}

type WrittenTest = {
  readonly name?: string
  readonly as: CallerName | readonly CallerName[]
  readonly given?: string
  readonly request: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly status?: number
  readonly rows?: readonly unknown[] | number
  readonly error?: string | number | { readonly code?: string | number; readonly message?: string }
}

function contentOf(source: Source, { callers = {}, tests = [], matrix = {}, accepted = [] }: Content): TestFile {
  const { path } = source
  const at = (...steps: Steps): Place => ({ file: path, line: lineAt(source, steps) })
  return {
    path,
    callers,
    tests: tests.flatMap((test, index) => testsOf(source, test, index)),
    matrix: Object.entries(matrix).flatMap(([table, commands]) =>
      matrixCommands.flatMap((command) =>
        Object.entries(commands[command] ?? {}).map(([as, expected]) => ({
          ...at('matrix', table, command, as),
          table,
          command,
          as,
          expected,
        })),
      ),
    ),
    accepted: accepted.map((entry, index) => ({ ...at('accepted', index), ...entry })),
  }
}

/** The name of a caller for people. */
const callerText = (as: CallerName): string =>
  typeof as === 'string'
    ? as
    : (as.email ?? as.key ?? [as.role, as.claims && JSON.stringify(as.claims)].join(' ').trim())

function testsOf(source: Source, test: WrittenTest, index: number): readonly PolicyTest[] {
  const { as, request, name, given, headers = {}, body, status, rows } = test
  const callers: readonly CallerName[] = Array.isArray(as) ? (as as CallerName[]) : [as as CallerName]
  const space = request.indexOf(' ')
  return callers.map((caller) => {
    const who = callerText(caller)
    return {
      file: source.path,
      line: lineAt(source, ['tests', index]),
      name: name === undefined ? `${who}: ${request}` : callers.length === 1 ? name : `${name} (${who})`,
      as: caller,
      given,
      method: request.slice(0, space),
      target: request.slice(space + 1),
      headers,
      body,
      status,
      rows,
      error: errorOf(source, test.error, ['tests', index, 'error']),
    }
  })
}

function errorOf(source: Source, error: WrittenTest['error'], steps: Steps): ExpectedError | undefined {
  if (error === undefined) return undefined
  if (typeof error !== 'object') return { code: codeText(source, error, steps), message: undefined }
  const code = error.code === undefined ? undefined : codeText(source, error.code, [...steps, 'code'])
  return { code, message: error.message }
}

/** YAML reads codes of digits as numbers, without leading zeros. */
function codeText({ document }: Source, code: string | number, steps: Steps): string {
  const node: unknown = document.getIn(steps, true)
  return isScalar(node) && typeof code === 'number' ? (node.source ?? String(code)) : String(code)
}
