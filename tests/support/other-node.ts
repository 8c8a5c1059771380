// Another release of Node.js, from npm, for tests of code that depends on the release.
import { join } from 'node:path'
import { addedPackage } from './added-package.ts'

/**
 * Path of the executable `node` of a release 22 that supports `reusePort`. As a dependency of the project, it would precede
 * the Node.js that runs npm scripts on the PATH.
 */
export async function nodeWithReusePort(): Promise<string> {
  return join(await addedPackage(`node-${process.platform}-${process.arch}`, '22.23.3'), 'bin', 'node')
}
