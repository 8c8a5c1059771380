// The functions of a project: folders with an `index.ts`, as Supabase's command line finds them.
// https://supabase.com/docs/guides/functions/development-tips
import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { parseEnv } from 'node:util'
import { inParallel } from '../../common/in-parallel.ts'
import { readFunctionsConfig, type FunctionConfig } from './function-config.ts'
import { FunctionProjectError } from './project-error.ts'

export type FunctionDefinition = {
  readonly name: string
  /** Absolute path of the file that is run. */
  readonly entrypoint: string
  /** Absolute path of `deno.json`, `deno.jsonc` or an import map. */
  readonly importMap: string | undefined
  /** Whether calls need a valid token or API key. */
  readonly verifyJwt: boolean
}

export type FunctionProject = {
  /** Absolute path of the folder. */
  readonly folder: string
  /** Folder that imports may not leave: the working folder, or that of the functions if it is elsewhere. */
  readonly root: string
  readonly functions: ReadonlyMap<string, FunctionDefinition>
  /** Variables of the files `.env` and `.env.local`, and of `config.toml`. */
  readonly environment: Readonly<Record<string, string>>
  /** Changes with every change of a file. */
  readonly version: string
  /** Sentences for the owner: what is left out, and why. */
  readonly notes: readonly string[]
}

export type ProjectFolders = {
  /** Absolute path of the folder of functions. */
  readonly folder: string
  /** Absolute path of the working folder. */
  readonly workingFolder: string
  /** Variables of the server, for `env(NAME)` in `config.toml`. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Names of functions, as Supabase's command line accepts them. */
export const functionName = /^[A-Za-z][A-Za-z0-9_-]*$/

/** Files that are run, in the order in which they are looked for. */
const entryFiles = ['index.ts', 'index.tsx', 'index.mts', 'index.js', 'index.jsx', 'index.mjs']
const importMaps = ['deno.json', 'deno.jsonc', 'import_map.json']
const environmentFiles = ['.env', '.env.local']
/** Files that a folder of functions may have. More are probably not functions. */
const mostFiles = 20_000

/**
 * Reads the folder.
 *
 * @throws FunctionProjectError when a file cannot be read, or says what is not possible
 */
export async function readFunctionProject({ folder, workingFolder, env }: ProjectFolders): Promise<FunctionProject> {
  const files = await listFiles(folder)
  const configFile = await configFileOf(folder, workingFolder)
  const { functions: config, secrets } = await readFunctionsConfig(configFile, env)
  const [environment, notes] = await readEnvironment(folder, files)
  const root = isInside(folder, workingFolder) ? workingFolder : folder
  const found = new Map<string, FunctionDefinition>()
  const byFolder = entriesOf(files)
  const names = new Set([...byFolder.keys(), ...config.keys()])
  for (const name of [...names].sort()) {
    const own = config.get(name) ?? {}
    if (name.startsWith('_') || own.enabled === false) continue
    if (!functionName.test(name)) {
      notes.push(`${name} is no name of a function: names have letters, digits, - and _, and begin with a letter.`)
      continue
    }
    const entrypoint = entrypointOf(own, byFolder.get(name), { folder, configFile })
    if (entrypoint === undefined) {
      notes.push(`The function ${name} of ${configFile} has no file: ${join(folder, name, 'index.ts')}.`)
      continue
    }
    if (!isInside(entrypoint, root)) {
      throw new FunctionProjectError(`${configFile}: the entrypoint of ${name} is outside of the folder ${root}.`)
    }
    found.set(name, {
      name,
      entrypoint,
      importMap: importMapOf(name, own, files, { folder, configFile }),
      verifyJwt: own.verifyJwt ?? true,
    })
  }
  const hash = createHash('sha256')
  for (const [path, { size, changed }] of files) hash.update(`${path}\0${size}\0${changed}\n`)
  hash.update(JSON.stringify([[...config], secrets]))
  return {
    folder,
    root,
    functions: found,
    environment: { ...secrets, ...environment },
    version: hash.digest('base64url'),
    notes,
  }
}

type FileState = { readonly size: number; readonly changed: number }

/** All files below a folder by their relative paths, in order; without packages and hidden folders. */
async function listFiles(folder: string): Promise<ReadonlyMap<string, FileState>> {
  const paths: string[] = []
  const collect = async (below: string): Promise<void> => {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
      const path = join(below, entry.name)
      const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && (await isFolderAt(join(folder, path))))
      if (isFolder && (entry.name === 'node_modules' || entry.name.startsWith('.'))) continue
      if (isFolder && entry.isSymbolicLink() && below !== '') continue
      if (isFolder) await collect(path)
      else paths.push(path)
      if (paths.length > mostFiles) {
        throw new FunctionProjectError(`${folder} has more than ${mostFiles} files. Is it a folder of functions?`)
      }
    }
  }
  const states = new Map<string, FileState>()
  try {
    await collect('')
    paths.sort()
    for (const path of paths) states.set(path, { size: 0, changed: 0 })
    await inParallel(paths, async (path) => {
      const found = await stat(join(folder, path)).catch(() => undefined)
      if (found) states.set(path, { size: found.size, changed: found.mtimeMs })
      else states.delete(path)
    })
  } catch (error) {
    if (error instanceof FunctionProjectError) throw error
    throw new FunctionProjectError(`${folder} cannot be read: ${(error as Error).message}`, error)
  }
  return states
}

const isFolderAt = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

/** The first entry file of each folder, relative to the folder of functions. */
function entriesOf(files: ReadonlyMap<string, FileState>): ReadonlyMap<string, string> {
  const entries = new Map<string, string>()
  const rank = (path: string): number => entryFiles.indexOf(path.slice(path.indexOf(sep) + 1))
  for (const path of files.keys()) {
    const parts = path.split(sep)
    const [name = '', file = ''] = parts
    if (parts.length !== 2 || !entryFiles.includes(file)) continue
    const before = entries.get(name)
    if (before === undefined || rank(path) < rank(before)) entries.set(name, path)
  }
  return entries
}

type Places = { readonly folder: string; readonly configFile: string }

const entrypointOf = (
  { entrypoint }: FunctionConfig,
  found: string | undefined,
  { folder, configFile }: Places,
): string | undefined => {
  if (entrypoint !== undefined) return resolve(dirname(configFile), entrypoint)
  return found === undefined ? undefined : join(folder, found)
}

/** That of `config.toml`, of the folder of the function, or of all functions. */
function importMapOf(
  name: string,
  { importMap }: FunctionConfig,
  files: ReadonlyMap<string, FileState>,
  { folder, configFile }: Places,
): string | undefined {
  if (importMap !== undefined) return resolve(dirname(configFile), importMap)
  for (const file of [...importMaps.map((map) => join(name, map)), ...importMaps]) {
    if (files.has(file)) return join(folder, file)
  }
  return undefined
}

/** `config.toml` beside the folder, where Supabase has it, or that of the working folder's `supabase`. */
async function configFileOf(folder: string, workingFolder: string): Promise<string> {
  const beside = join(dirname(folder), 'config.toml')
  const ofSupabase = join(workingFolder, 'supabase', 'config.toml')
  const isFile = await stat(ofSupabase).then(
    (found) => found.isFile(),
    () => false,
  )
  return isFile ? ofSupabase : beside
}

/** Variables with this beginning are the server's. */
const reserved = 'SUPABASE_'

async function readEnvironment(
  folder: string,
  files: ReadonlyMap<string, FileState>,
): Promise<[environment: Record<string, string>, notes: string[]]> {
  const environment: Record<string, string> = {}
  const notes: string[] = []
  for (const file of environmentFiles.filter((name) => files.has(name))) {
    const text = await readFile(join(folder, file), 'utf8').catch((error: unknown) => {
      throw new FunctionProjectError(`${join(folder, file)} cannot be read: ${(error as Error).message}`, error)
    })
    for (const [name, value] of Object.entries(parseEnv(text))) {
      if (name.startsWith(reserved)) notes.push(`${file}: ${name} is left out, because the server sets ${reserved}….`)
      else if (value !== undefined) environment[name] = value
    }
  }
  return [environment, notes]
}

const isInside = (path: string, folder: string): boolean => {
  const from = relative(folder, path)
  return from !== '' && !from.startsWith('..') && !isAbsolute(from)
}
