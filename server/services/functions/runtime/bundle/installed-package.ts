// Packages as they are installed.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { lazyPackage } from '../../../../common/lazy.ts'

const semver = lazyPackage<{
  readonly satisfies: (version: string, range: string) => boolean
  readonly validRange: (range: string) => string | null
}>('semver')

export type InstalledPackage = { readonly folder: string; readonly version: string }

type PackageFile = { readonly name?: unknown; readonly version?: unknown }

/**
 * The package that a file belongs to. Folders within a package may have a `package.json` of their own, without name and version.
 *
 * @returns undefined if it is not installed
 */
export function installedPackage(path: string): InstalledPackage | undefined {
  const folder = dirname(path)
  if (folder === path) return undefined
  const file = join(folder, 'package.json')
  if (existsSync(file)) {
    const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as PackageFile
    if (typeof name === 'string' && typeof version === 'string') return { folder, version }
  }
  return installedPackage(folder)
}

/** Whether a version is in a range such as `^2`, `1.x` or `>=1 <3`. Any version may have a tag such as `latest`. */
export const isVersionInRange = (version: string, range: string): boolean =>
  semver().validRange(range) === null || semver().satisfies(version, range)
