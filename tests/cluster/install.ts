// Installs the program in each way that the README describes, and runs it. `npm run test:install` runs all checks,
// `npm run test:install -- package systemd` some. They need root, Debian's packages and npm's registry.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkImage } from './install/image.ts'
import { startDatabases, type Installation } from './install/installation.ts'
import { checkKubernetes } from './install/kubernetes.ts'
import { checkPackage } from './install/package.ts'
import { checkSystemd } from './install/systemd.ts'

const checks: Readonly<Record<string, (installation: Installation) => Promise<void>>> = {
  package: checkPackage,
  systemd: checkSystemd,
  kubernetes: checkKubernetes,
  image: checkImage,
}

const named = process.argv.slice(2)
const unknown = named.filter((name) => !Object.hasOwn(checks, name))
if (unknown.length > 0) {
  console.error(`${unknown.join(', ')}: no such check. There are ${Object.keys(checks).join(', ')}.`)
  process.exit(2)
}

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-install-'))
const closings: (() => unknown)[] = []
const atEnd = (close: () => unknown): void => void closings.unshift(close)
let passed = 0
let failed = 0
const check = (isRight: boolean, text: string): void => {
  console.log(`${isRight ? 'ok' : 'NOT OK'} - ${text}`)
  if (isRight) passed++
  else failed++
}

try {
  atEnd(() => rm(folder, { recursive: true, force: true }))
  const database = await startDatabases(folder, atEnd)
  for (const [name, run] of Object.entries(checks)) {
    if (named.length > 0 && !named.includes(name)) continue
    console.log(`# ${name}`)
    const begun = performance.now()
    const own = await mkdtemp(join(folder, `${name}-`))
    try {
      await run({ folder: own, atEnd, check, database })
    } catch (error) {
      check(false, `${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
    console.log(`# ${name}: ${Math.round((performance.now() - begun) / 1000)} s`)
  }
} finally {
  for (const close of closings) await close()
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 && passed > 0 ? 0 : 1)
