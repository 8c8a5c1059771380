// Another release of Node.js, from npm, for tests of code that depends on the release.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const release = '22.23.3'
const folder = fileURLToPath(new URL('../../node_modules/.cache/rowhouse/node-22', import.meta.url))

/**
 * Path of the executable `node` of a release 22 that supports `reusePort`. It is installed at the first call, in its
 * own folder: as a dependency of the project, it would precede the Node.js that runs npm scripts on the PATH.
 */
export async function nodeWithReusePort(): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`
  const program = join(folder, 'node_modules', name, 'bin', 'node')
  if (existsSync(program)) return program
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
  await run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', `${name}@${release}`], {
    cwd: folder,
  })
  return program
}
