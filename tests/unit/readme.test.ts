// Checks the facts in the README that a program can check.
import { readdir, readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { settingsTable } from '../../server/config/dump.ts'

const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
// The formatter aligns tables.
const cells = (text: string) =>
  text
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').replace(/-{3,}/g, '---').trim())
    .filter((line) => line !== '')

t.test('the settings table matches the program', async (t) => {
  const [, section = ''] = /<!-- settings -->([^]*)<!-- \/settings -->/.exec(readme) ?? []
  t.strictSame(cells(section), cells(settingsTable()))
})

t.test('scripts and files named in the README exist', async (t) => {
  const { scripts } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
    scripts: Record<string, string>
  }
  for (const [, name = ''] of readme.matchAll(/npm run ([\w:]+)/g)) t.ok(scripts[name], name)
  for (const [, path = ''] of readme.matchAll(/`((?:server|sql|schemas)\/[\w/.-]+)`/g)) {
    if (path.includes('NN_')) continue
    await t.resolves(
      readFile(new URL(`../../${path}`, import.meta.url)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EISDIR') throw error
      }),
      path,
    )
  }
})

for (const [document, least] of [
  ['CONTRIBUTING.md', 50],
  ['SECURITY.md', 30],
] as const)
  t.test(`files named in ${document} exist`, (t) => namesFiles(t, document, least))

/** Every file that a document names exists, and it names at least so many. */
async function namesFiles(t: Test, document: string, least: number): Promise<void> {
  const text = await readFile(new URL(`../../${document}`, import.meta.url), 'utf8')
  const files = await Promise.all(
    ['server', 'tests', 'schemas'].map(async (folder) =>
      (await readdir(new URL(`../../${folder}/`, import.meta.url), { recursive: true })).map(
        (file) => `/${folder}/${file}`,
      ),
    ),
  )
  const names = [...text.matchAll(/`([\w./-]+\.(?:ts|json))`/g)].map(([, name = '']) => name)
  t.ok(names.length > least)
  for (const name of names)
    t.ok(
      files.flat().some((file) => file.endsWith(`/${name}`)),
      name,
    )
}
