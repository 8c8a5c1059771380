// Runs the programs of others that use this server: `npm run test:clients` all of them, `npm run test:clients -- refine`
// the files whose names contain a word. Further options go to tap; `--write` writes the results into the guide.
//
// They are installed at the first run, which needs npm's registry and minutes. Results are kept in the cache, so that the
// tables can be written after several runs.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { cache } from './support/installation.ts'
import { addResults, resultsFile, resultTables, type Result } from './support/results.ts'

const guide = 'server/rest/clients.md'

const args = process.argv.slice(2)
const words = args.filter((arg) => !arg.startsWith('-'))
const options = args.filter((arg) => arg.startsWith('-') && arg !== '--write')
const files = readdirSync('tests/clients')
  .filter((name) => name.endsWith('.client.ts'))
  .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
  .map((name) => join('tests/clients', name))
if (files.length === 0) {
  console.error(`No file in tests/clients has a name with ${words.join(' or ')}.`)
  process.exit(2)
}

mkdirSync(cache, { recursive: true })
const lines = join(cache, 'lines.ndjson')
rmSync(lines, { force: true })
const { status } = spawnSync('tap', ['--before=', '--after=', '--jobs=1', '--timeout=1800', ...options, ...files], {
  stdio: 'inherit',
  env: { ...process.env, [resultsFile]: lines },
})

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
const results = read(lines)
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Result)
console.log(`\n${resultTables(results).join('\n')}`)

const kept = join(cache, 'results.json')
const all = addResults(JSON.parse(read(kept) || '[]') as readonly Result[], results)
writeFileSync(kept, JSON.stringify(all, null, 2))
const tables = resultTables(all).join('\n')
writeFileSync(join(cache, 'results.md'), tables)
if (args.includes('--write')) {
  const [before = '', after = ''] = readFileSync(guide, 'utf8').split(
    /(?<=<!-- results -->\n\n)[^]*(?=<!-- \/results -->)/,
  )
  writeFileSync(guide, `${before}${tables}\n${after}`)
}
process.exitCode = status ?? 1
