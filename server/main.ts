#!/usr/bin/env node
// The entry of the program. It imports nothing by itself: what other modules import may be missing in an older Node.js,
// which fails before the first of them runs.

/** As `engines` in package.json. */
const oldestMajor = 20

const major = Number(process.versions.node.split('.')[0])

if (major >= oldestMajor) {
  // Node.js 20 does not have it. Without it, `pg` asks a `Response` which runtime this is, and Node.js loads its Fetch API: 10 MB.
  if (!('navigator' in globalThis)) Object.assign(globalThis, { navigator: { userAgent: `Node.js/${major}` } })
  // Before the program is loaded, which would make it grow.
  const { keepYoungGeneration } = await import('./running/heap.ts')
  if (process.argv[2] === 'serve') keepYoungGeneration()
  await import('./tools/program.ts')
} else {
  process.stderr.write(
    `rowhouse needs Node.js ${oldestMajor} or later; this is ${process.versions.node} (${process.execPath}). ` +
      'Install a current release from https://nodejs.org, or choose it with your version manager.\n',
  )
  process.exitCode = 1
}
