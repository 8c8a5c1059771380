// Files that functions read: those of their folder.
import { readFileSync, realpathSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { IsADirectory, NotCapable, NotFound } from './deno-errors.ts'

type Path = string | URL

/** The functions of `Deno` that read files. */
export type FileReading = {
  readonly readFile: (path: Path) => Promise<Uint8Array>
  readonly readFileSync: (path: Path) => Uint8Array
  readonly readTextFile: (path: Path) => Promise<string>
  readonly readTextFileSync: (path: Path) => string
}

/** The error that Deno has for that of Node.js. */
function denoError(error: unknown, path: Path): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new NotFound(`There is no file "${String(path)}"`)
    case 'EISDIR':
      return new IsADirectory(`"${String(path)}" is a folder`)
    case 'ERR_ACCESS_DENIED':
    case 'EACCES':
      return new NotCapable(`The function may not read "${String(path)}"`)
    default:
      return error
  }
}

/**
 * Functions that read files of a folder. Paths are relative to it. They refuse a path outside, and a symbolic link to a file outside.
 *
 * @param folder absolute path without symbolic links
 */
export function fileReading(folder: string): FileReading {
  const pathOf = (path: Path): string =>
    resolve(folder, path instanceof URL || path.startsWith('file:') ? fileURLToPath(path) : path)
  const checked = (path: Path, real: string): string => {
    const way = relative(folder, real)
    if (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return real
    throw new NotCapable(`The function may not read "${String(path)}": only files of its folder are readable`)
  }
  const bytes = async (path: Path): Promise<Buffer> => {
    const named = checked(path, pathOf(path))
    try {
      return await readFile(checked(path, await realpath(named)))
    } catch (error) {
      throw denoError(error, path)
    }
  }
  const bytesSync = (path: Path): Buffer => {
    const named = checked(path, pathOf(path))
    try {
      return readFileSync(checked(path, realpathSync.native(named)))
    } catch (error) {
      throw denoError(error, path)
    }
  }
  return {
    readFile: async (path) => new Uint8Array(await bytes(path)),
    readFileSync: (path) => new Uint8Array(bytesSync(path)),
    readTextFile: async (path) => (await bytes(path)).toString('utf8'),
    readTextFileSync: (path) => bytesSync(path).toString('utf8'),
  }
}
