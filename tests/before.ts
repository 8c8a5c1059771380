// Set-up shared by all test files: the built program, which starts much faster than its sources, the bundle of its
// modules, and a cluster.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startCluster } from './support/cluster.ts'
import { bundleServer, bundleTap } from './support/server-bundle.ts'

const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
const project = fileURLToPath(new URL('../tsconfig.build.json', import.meta.url))

await Promise.all([
  startCluster(),
  bundleServer(),
  bundleTap(),
  // Types are checked by `npm run typecheck`.
  promisify(execFile)(process.execPath, [compiler, '-p', project, '--noCheck']),
  promisify(execFile)('npm', ['run', '--silent', 'build:console']),
])
process.exit(0)
