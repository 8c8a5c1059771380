// Checks the facts in the README and the guides that a program can check.
import { readdir, readFile, stat } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { authFamilies } from '../../../server/config/auth-families.ts'
import { aliasVariable, settingVariables } from '../../../server/config/setting.ts'
import { allSettings } from '../../../server/config/settings.ts'
import { anchorOf } from '../../../server/services/guides/guides.ts'
import { guides, guideText } from '../../support/readme-section.ts'
import { settingsPages, settingsWithoutPage, withIndex } from '../../support/settings-pages.ts'

const root = new URL('../../../', import.meta.url)
const documents = [
  ...guides,
  ...(await Promise.all(
    ['CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'].map(async (path) => ({
      path,
      text: await readFile(new URL(path, root), 'utf8'),
    })),
  )),
]

/** The text without code, in which nothing is a link or a heading. */
const withoutCode = (text: string): string => text.replace(/^```[^]*?^```$/gm, '').replace(/^(?: {4}.*\n)+/gm, '\n')

t.test('the README and the guides are short, and say first what they are for', (t) => {
  t.ok(guides.length > 40)
  for (const { path, text } of guides) {
    // The list of error codes is searched, not read as a whole.
    const limit = path === 'server/rest/errors.md' ? 32 : path === 'README.md' ? 14 : 12
    t.ok(Buffer.byteLength(text) <= limit * 1024, `${path} has at most ${limit} KB`)
    t.match(text, /^# \w.*\n\n[A-Za-z`][^]*?\.\s/, path)
    t.equal(withoutCode(text).match(/^# /gm)?.length, 1, `${path} has one title`)
  }
  t.end()
})

t.test('each room, service and extension has a guide', async (t) => {
  const below = async (folder: string): Promise<string[]> =>
    (await readdir(new URL(folder, root), { withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${folder}${name}/README.md`)
  const wanted = await Promise.all(['server/', 'server/services/', 'server/rest/extensions/'].map(below))
  const paths = new Set(guides.map(({ path }) => path))
  for (const path of wanted.flat()) t.ok(paths.has(path), path)
})

t.test('the pages of settings match the program', (t) => {
  t.strictSame(settingsWithoutPage, [], 'every setting belongs to a task')
  const start = guideText('server/config/README.md')
  t.equal(start, withIndex(start), 'run `npm run guides`')
  for (const [name, text] of settingsPages) t.equal(guideText(`server/config/${name}`), text, `${name}: npm run guides`)
  t.end()
})

t.test('guides name every setting, and every way to write it', (t) => {
  const all = guides.map(({ text }) => text).join('\n')
  for (const setting of allSettings)
    for (const name of [setting.name, ...settingVariables(setting), ...(setting.aliases ?? []).map(aliasVariable)])
      t.ok(all.includes(`\`${name}\``), name)
  for (const { variable } of authFamilies) t.ok(all.includes(`\`${variable}\``), variable)
  t.end()
})

const anchorsIn = (text: string): readonly string[] =>
  Array.from(withoutCode(text).matchAll(/^#{1,6} (.*)$/gm), ([, heading = '']) => anchorOf(heading))

type Link = { readonly file: string; readonly anchor: string }

/** The links of a document to files of this project. */
function linksIn(path: string, text: string): readonly Link[] {
  const targets = Array.from(withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target)
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const { pathname, hash } = new URL(target, `file:///${path}`)
      return { file: pathname.slice(1), anchor: hash.slice(1) }
    })
}

t.test('links lead to files and headings that exist', async (t) => {
  for (const { path, text } of documents)
    for (const { file, anchor } of linksIn(path, text)) {
      const found = documents.find((it) => it.path === file)
      if (found === undefined) await t.resolves(stat(new URL(file, root)), `${path}: ${file}`)
      if (anchor !== '') t.ok(anchorsIn(found?.text ?? '').includes(anchor), `${path}: ${file}#${anchor}`)
    }
})

t.test('links of the README lead to every guide', (t) => {
  const reached = new Set(['README.md'])
  for (const path of reached)
    for (const { file } of linksIn(path, guides.find((guide) => guide.path === path)?.text ?? '')) reached.add(file)
  for (const { path } of guides) t.ok(reached.has(path), path)
  t.end()
})

t.test('scripts and files that guides name exist', async (t) => {
  const { scripts } = JSON.parse(await readFile(new URL('package.json', root), 'utf8')) as {
    scripts: Record<string, string>
  }
  for (const { path: guide, text } of guides) {
    for (const [, name = ''] of text.matchAll(/npm run ([\w:]+)/g)) t.ok(scripts[name], `${guide}: ${name}`)
    for (const [, path = ''] of text.matchAll(/`((?:server|sql|schemas)\/[\w/.-]+)`/g))
      await t.resolves(stat(new URL(path, root)), `${guide}: ${path}`)
  }
})

// The name of this program is not registered: npm would look it up, and run what someone else has put there.
t.test('the walk of a read in CONTRIBUTING.md names few files', async (t) => {
  const text = await readFile(new URL('CONTRIBUTING.md', root), 'utf8')
  const [steps = ''] = /### An embedded read[^]*?(?=\nBefore the first request)/.exec(text) ?? []
  const files = new Set(steps.match(/`[\w/.-]+\.ts`/g))
  t.ok(files.size > 20 && files.size <= 40, `${files.size} files`)
})

t.test('no text runs the program in a way in which npm looks its name up', async (t) => {
  const folders = ['server', 'sql', 'schemas', 'tests']
  const files = (
    await Promise.all(
      folders.map(async (folder) =>
        (await readdir(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })).map(
          (file) => `${folder}/${file}`,
        ),
      ),
    )
  )
    .flat()
    .filter((file) => /\.(?:ts|md|sql|json|ya?ml|sh)$/.test(file))
  const lookUp =
    /\b(?:npx|npm (?:exec|x)|bunx|(?:pnpm|yarn) dlx)(?! --no-install| --no )(?: -[\w-]+)*(?: --)? rowhouse\b/
  const install = /\bnpm (?:install|i|add)(?: -[\w-]+)* rowhouse\b/
  t.match('npx rowhouse check', lookUp)
  t.match('npx --yes rowhouse check', lookUp)
  t.notMatch('npx --no-install rowhouse check', lookUp)
  for (const file of [...files, ...documents.map(({ path }) => path), 'package.json', 'Dockerfile']) {
    if (file === 'tests/running/unit/readme.test.ts') continue
    const text = await readFile(new URL(file, root), 'utf8')
    if (lookUp.test(text) || install.test(text)) t.fail(file)
  }
})

for (const [document, least] of [
  ['CONTRIBUTING.md', 50],
  ['SECURITY.md', 30],
] as const)
  t.test(`files named in ${document} exist`, (t) => namesFiles(t, document, least))

/** Every file that a document names exists, and it names at least so many. */
async function namesFiles(t: Test, document: string, least: number): Promise<void> {
  const text = await readFile(new URL(`../../../${document}`, import.meta.url), 'utf8')
  const files = await Promise.all(
    ['server', 'tests', 'schemas'].map(async (folder) =>
      (await readdir(new URL(`../../../${folder}/`, import.meta.url), { recursive: true })).map(
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
