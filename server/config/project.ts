// The folders of the user's project: migrations, JSON Schemas and functions.
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { dirname, join, resolve } from 'node:path'
import type { Config } from './config.ts'

/** The settings do not name the folders of a project. The message is a sentence for the user. */
export class ProjectError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ProjectError'
  }
}

/** Paths, relative to the working folder where the settings are. */
export type Project = {
  /** Folder of the migrations, if there is one. A new project of Supabase may have seeds before it has this folder. */
  readonly migrations: string | undefined
  /** Folder of JSON Schemas, if there is one. */
  readonly schemas: string | undefined
}

type Settings = Pick<Config, 'migrationsDir' | 'schemasDir'>

/** Value of a setting for a folder that is not used, even if it exists. */
const none = 'none'
/** Folders of migrations, relative to the working folder, if no setting names one. */
const usual = ['migrations', join('supabase', 'migrations')]

const ownFolders = {
  migrations: fileURLToPath(new URL('../../sql/migrations', import.meta.url)),
  schemas: fileURLToPath(new URL('../../schemas', import.meta.url)),
}

/**
 * Finds the project: the folders that the settings name, or those in the working folder.
 *
 * @param folder the working folder
 * @throws ProjectError when a folder that a setting names does not exist, or when there are two
 */
export async function findProject(settings: Settings, folder = process.cwd()): Promise<Project> {
  const migrations = await findMigrations(settings.migrationsDir, folder)
  return {
    migrations,
    schemas: await findSchemas(settings.schemasDir, migrations, folder),
  }
}

/** Folders of functions, relative to the working folder, if no setting names one. */
const usualFunctions = ['functions', join('supabase', 'functions')]

/**
 * Finds the folder of functions: the one that the setting names, or the usual one of the working folder.
 *
 * @param folder the working folder
 * @returns its absolute path; undefined without one
 * @throws ProjectError when a folder that the setting names does not exist, or when there are two
 */
export async function findFunctions(setting: string | null, folder = process.cwd()): Promise<string | undefined> {
  if (setting === none) return undefined
  if (setting !== null) return resolve(folder, await required('FUNCTIONS_DIR', setting, folder))
  const found: string[] = []
  for (const name of usualFunctions) if (await isFolder(resolve(folder, name))) found.push(name)
  if (found.length > 1) {
    throw new ProjectError(
      `There are two folders of functions, ${found.join(' and ')}: set FUNCTIONS_DIR to one of them.`,
    )
  }
  return found[0] === undefined ? undefined : resolve(folder, found[0])
}

/** The folder in which a new function is created: an existing one, or the usual one of the working folder. */
export async function folderForFunction(setting: string | null, folder = process.cwd()): Promise<string> {
  if (setting !== null && setting !== none) return resolve(folder, setting)
  const found = await findFunctions(null, folder)
  if (found !== undefined) return found
  return resolve(folder, (await isFolder(resolve(folder, 'supabase'))) ? join('supabase', 'functions') : 'functions')
}

async function findMigrations(setting: string | null, folder: string): Promise<string | undefined> {
  if (setting === none) return undefined
  if (setting !== null) {
    if (resolve(folder, setting) === ownFolders.migrations) {
      throw new ProjectError(
        `MIGRATIONS_DIR: ${setting} has the migrations of rowhouse itself. Put files of your own into another folder.`,
      )
    }
    return required('MIGRATIONS_DIR', setting, folder)
  }
  const found: string[] = []
  for (const name of usual) if (await isFolder(resolve(folder, name))) found.push(name)
  if (found.length > 1) {
    throw new ProjectError(
      `There are two folders of migrations, ${found.join(' and ')}: set MIGRATIONS_DIR to one of them.`,
    )
  }
  return found[0] ?? ((await isFile(resolve(folder, 'supabase', 'config.toml'))) ? usual[1] : undefined)
}

async function findSchemas(
  setting: string | null,
  migrations: string | undefined,
  folder: string,
): Promise<string | undefined> {
  if (setting === none) return undefined
  if (setting !== null) return required('SCHEMAS_DIR', setting, folder)
  if (migrations === undefined) return undefined
  const sibling = join(dirname(migrations), 'schemas')
  const path = resolve(folder, sibling)
  return path !== ownFolders.schemas && (await isFolder(path)) ? sibling : undefined
}

async function required(setting: string, path: string, folder: string): Promise<string> {
  if (await isFolder(resolve(folder, path))) return path
  throw new ProjectError(`${setting}: there is no folder ${path}.`)
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  )

/** The folder in which a new migration is created: an existing one, or the usual one of the working folder. */
export async function folderForNew(settings: Settings, folder = process.cwd()): Promise<string> {
  const { migrationsDir } = settings
  if (migrationsDir !== null && migrationsDir !== none) return migrationsDir
  const { migrations } = await findProject({ ...settings, schemasDir: none }, folder)
  return migrations ?? ((await isFolder(resolve(folder, 'supabase'))) ? join('supabase', 'migrations') : 'migrations')
}
