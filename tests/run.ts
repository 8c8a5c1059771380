// Runs the tests: `npm test` those that every change should pass in a few minutes, `npm run test:browser` those that need
// Chromium, `npm run test:long` those that measure or take a minute, `npm run test:rest` all others, and `npm run test:all` all.
// `npm run test:ci` runs those of `.ci/run` at once. The first argument names the parts, with commas; further ones go to tap.
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

/** What measures time and memory, which a busy machine disturbs, and the longest drills: `.ci/run` leaves them out. */
const longest =
  /request-costs|young-generation|encoded-rows-attack|analysis-limits|realtime-(?:isolation|turns|load)|rolling-restart|many-processes|storage-resumable-client|session-state/

const partOf = (file: string): string =>
  file.startsWith('tests/browser/')
    ? 'browser'
    : longest.test(file)
      ? 'long'
      : groupOf(file) === undefined
        ? 'short'
        : 'rest'

const [which = 'short', ...options] = process.argv.slice(2)
const parts = which.split(',')
const chosen = files.filter((file) => parts.includes(partOf(file)))
const { status } = spawnSync(
  process.execPath,
  ['--import=./tests/without-coverage.mjs', 'node_modules/.bin/tap', ...options, ...joinFiles(chosen)],
  { stdio: 'inherit' },
)

if (which === 'short') {
  const rest = files.filter((file) => partOf(file) === 'rest')
  const left = longGroups.map(([what]) => `${rest.filter((file) => groupOf(file) === what).length} of ${what}`)
  console.log(`# ${chosen.length} files of tests. Not run: ${left.join('; ')}. They run with: npm run test:rest`)
  console.log('# Tests in a browser run with: npm run test:browser; those that take longest with: npm run test:long')
}
process.exitCode = status ?? 1
