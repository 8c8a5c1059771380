// Packages that a test needs and the project does not depend on, from npm.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const cache = fileURLToPath(new URL('../../node_modules/.cache/rowhouse', import.meta.url))

/**
 * Installs a package at the first call, in a folder of its own.
 *
 * @returns the path of the package
 */
export async function addedPackage(name: string, release: string): Promise<string> {
  const folder = join(cache, `${name}-${release}`)
  const path = join(folder, 'node_modules', name)
  if (existsSync(path)) return path
  await mkdir(cache, { recursive: true })
  const temporary = await mkdtemp(join(cache, 'installing-'))
  await writeFile(join(temporary, 'package.json'), '{ "private": true }\n')
  const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...flags, `${name}@${release}`], { cwd: temporary })
  // Several tests may install it at once: the first one counts.
  await rename(temporary, folder).catch(() => rm(temporary, { recursive: true, force: true }))
  return path
}
