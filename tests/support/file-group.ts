// Runs several files of tests in one process, each as a subtest: starting a process and warming it up takes more processor
// time than most files. What the files import as `tap` is their subtest (`../typescript-hooks.mjs`).
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)
const folder = new URL('node_modules/.cache/rowhouse-tests/groups/', root)

/** A file that changes its process, or measures it, has one of its own; the client's `getClaims` keeps keys by the host. */
const needsOwnProcess =
  /process\.(?:env\.\w+ *=[^=]|memoryUsage|cpuUsage|resourceUsage|on\(|once\(|argv|exit|emit)|cpu-time|\bgc\b|node:v8|mock\.|globalThis\.|opentelemetry|prom-client|worker_threads|process\.stdout|on-s3|getClaims|trustAllStatements/

/** Files of a group. Unit tests are brief, and those of one group in a browser share it. */
const groupSizes = { unit: 24, http: 20, browser: 5 }

/**
 * Joins files of one folder to groups, and writes a program for each.
 *
 * @returns what to run: these programs, and the files that need a process of their own
 */
export function joinFiles(files: readonly string[]): string[] {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const alone = files.filter(
    (file) => file.includes('/process/') || needsOwnProcess.test(readFileSync(new URL(file, root), 'utf8')),
  )
  const groups = new Map<string, string[]>()
  const counts = new Map<string, number>()
  for (const file of files.filter((file) => !alone.includes(file))) {
    const tier = file.includes('/unit/') ? 'unit' : file.includes('/browser/') ? 'browser' : 'http'
    const count = counts.get(tier) ?? 0
    counts.set(tier, count + 1)
    const name = `${tier}-${String(Math.floor(count / groupSizes[tier]) + 1).padStart(2, '0')}`
    groups.set(name, [...(groups.get(name) ?? []), file])
  }
  const programs = [...groups].map(([name, members]) => {
    const program = new URL(`${name}.mjs`, folder)
    const source = `import { runFiles } from ${JSON.stringify(import.meta.url)}\nawait runFiles(${JSON.stringify(members)})\n`
    writeFileSync(program, source)
    return fileURLToPath(program)
  })
  // The last programs should be short: while one runs alone, a processor is idle. Long files tend to take long.
  const sizeOf = (file: string): number => statSync(new URL(file, root)).size
  const ofDecreasingSize = alone
    .map((file) => ({ file, size: sizeOf(file) }))
    .sort((one, other) => other.size - one.size)
    .map(({ file }) => file)
  return [...programs, ...ofDecreasingSize]
}

/** Runs files one after the other. One that fails does not keep the others from running. */
export async function runFiles(files: readonly string[]): Promise<void> {
  // Not in the program that joins the files, which would become a test itself.
  const { default: tap } = await import('tap')
  for (const file of files) {
    await tap.test(file, { timeout: 1_200_000 }, async (t) => {
      Object.assign(globalThis, { testOfFile: t })
      await import(new URL(file, root).href)
    })
  }
}
