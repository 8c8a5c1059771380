// Runs the tests: `npm test` those that every change should pass in a few minutes, `npm run test:rest` all others, and
// `npm run test:all` both. Further arguments go to tap.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { joinFiles } from './support/file-group.ts'

/** What `npm test` leaves out, by the paths of the files. */
const longGroups: readonly (readonly [what: string, files: RegExp])[] = [
  ['the program as a process of its own', /\/process\//],
  [
    'attacks, floods and large bodies',
    /attack|hostile|overload|hang-ups|faults|races|revocation|secret-doors|path-spellings|memory|slow-|large-|hash-processes|hash-worker|heap|-limits\.|live-detection|spill|shutdown|end\.test|unproven|first-password|one-set-of-rules|deferred-|\/pool\./,
  ],
  [
    'differential runs and generated input',
    /differential|rest\/encoded-|random|connection-model|keyset-|laboratory|report-isolation|session-state|sharing|shared-|caches?\.|exactly-once|linear-time|supabase-js|schema-cache-|request-shapes|-conversion|stable-relations|batch-size|round-trip/,
  ],
  [
    'S3, resized images, traces, replicas, dumps and the package',
    /s3|storage-render|statuses|tracing|replica|pooler|pgbouncer|storage-stores|package-|dump/,
  ],
]

const files = readdirSync('tests', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('tests', name))
  .sort()
const groupOf = (file: string): string | undefined => longGroups.find(([, pattern]) => pattern.test(file))?.[0]

const [which = 'short', ...options] = process.argv.slice(2)
const isRest = which === 'rest'
const chosen = files.filter((file) => (groupOf(file) !== undefined) === isRest)
const { status } = spawnSync('tap', [...options, ...joinFiles(chosen)], { stdio: 'inherit' })

if (!isRest) {
  const left = longGroups.map(([what]) => `${files.filter((file) => groupOf(file) === what).length} of ${what}`)
  console.log(`# ${chosen.length} files of tests. Not run: ${left.join('; ')}. They run with: npm run test:rest`)
}
process.exitCode = status ?? 1
