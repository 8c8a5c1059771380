// What Supabase's `config.toml` says of functions: the sections `[functions.NAME]` and `[edge_runtime.secrets]`.
// https://supabase.com/docs/guides/local-development/cli/config
import { readFile } from 'node:fs/promises'
import { parseToml, tomlSection, type TomlSection } from '../../text/toml.ts'
import { FunctionProjectError } from './project-error.ts'

/** The section of a function. What it does not have is undefined. */
export type FunctionConfig = {
  /** Whether the function is served. */
  readonly enabled?: boolean
  /** Whether calls need a token. */
  readonly verifyJwt?: boolean
  /** Path of the import map, relative to the folder of the file. */
  readonly importMap?: string
  /** Path of the file that is run, relative to the folder of the file. */
  readonly entrypoint?: string
}

export type FunctionsConfig = {
  readonly functions: ReadonlyMap<string, FunctionConfig>
  /** Variables of the environment of all functions. */
  readonly secrets: Readonly<Record<string, string>>
}

const nothing: FunctionsConfig = { functions: new Map(), secrets: {} }

/**
 * Reads the file.
 *
 * @param env where `env(NAME)` in a secret is looked up
 * @returns no functions and no secrets without the file
 * @throws FunctionProjectError naming the file and what is wrong
 */
export async function readFunctionsConfig(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<FunctionsConfig> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return nothing
    throw new FunctionProjectError(`${path} cannot be read: ${messageOf(error)}`, error)
  }
  const document = await parseToml(path, text, failed)
  const section = (...names: readonly string[]): TomlSection => tomlSection(path, document, names, failed)
  return {
    functions: new Map(
      Object.keys(section('functions')).map((name) => [name, functionConfig(path, name, section('functions', name))]),
    ),
    secrets: secretsOf(path, section('edge_runtime', 'secrets'), env),
  }
}

const failed = (message: string, cause?: unknown): Error => new FunctionProjectError(message, cause)

function functionConfig(path: string, name: string, section: TomlSection): FunctionConfig {
  const { enabled, verify_jwt: verifyJwt, import_map: importMap, entrypoint } = section
  for (const [key, value] of Object.entries({ enabled, verify_jwt: verifyJwt })) {
    if (value === undefined || typeof value === 'boolean') continue
    throw new FunctionProjectError(`${path}: ${key} in [functions.${name}] is true or false.`)
  }
  for (const [key, value] of Object.entries({ import_map: importMap, entrypoint })) {
    if (value === undefined || typeof value === 'string') continue
    throw new FunctionProjectError(`${path}: ${key} in [functions.${name}] is a path, such as "./functions/${name}/…".`)
  }
  return {
    ...(typeof enabled === 'boolean' ? { enabled } : {}),
    ...(typeof verifyJwt === 'boolean' ? { verifyJwt } : {}),
    // Supabase writes an empty path into new projects.
    ...(typeof importMap === 'string' && importMap !== '' ? { importMap } : {}),
    ...(typeof entrypoint === 'string' && entrypoint !== '' ? { entrypoint } : {}),
  }
}

/** Values are texts; `env(NAME)` is the value of a variable of the server, or nothing. */
function secretsOf(
  path: string,
  section: TomlSection,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const secrets: Record<string, string> = {}
  for (const [name, value] of Object.entries(section)) {
    if (typeof value !== 'string') {
      throw new FunctionProjectError(`${path}: ${name} in [edge_runtime.secrets] is a text, such as "env(${name})".`)
    }
    const [, variable] = /^env\(([^()]+)\)$/.exec(value) ?? []
    const text = variable === undefined ? value : env[variable]
    if (text !== undefined) secrets[name] = text
  }
  return secrets
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
