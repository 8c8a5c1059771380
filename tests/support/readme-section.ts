// The README and the guides beside the code, and the parts of them that tests run.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { readGuides } from '../../server/services/guides/guides.ts'

const run = promisify(execFile)
const root = new URL('../../', import.meta.url)

export type Guide = {
  /** Relative to the root of the project: `server/rest/README.md`. */
  readonly path: string
  readonly text: string
}

/** The README, then the guides in the order of their paths. */
export const guides: readonly Guide[] = [
  { path: 'README.md', text: await readFile(new URL('README.md', root), 'utf8') },
  ...(await readGuides()).map(({ file, text }) => ({ path: `server/${file}`, text })),
]

/** The text of one guide. */
export function guideText(path: string): string {
  const guide = guides.find((it) => it.path === path)
  if (guide === undefined) throw new Error(`there is no guide ${path}`)
  return guide.text
}

/** The text between the comments `<!-- name -->` and `<!-- /name -->` of the guide that has them, without the fences of blocks of code. */
export function readmeSection(name: string): string {
  const pattern = new RegExp(`<!-- ${name} -->([^]*?)<!-- /${name} -->`)
  const [text, ...more] = guides.flatMap((guide) => pattern.exec(guide.text)?.[1] ?? [])
  if (text === undefined) throw new Error(`no guide has a section ${name}`)
  if (more.length > 0) throw new Error(`several guides have a section ${name}`)
  return text.replace(/^ *```.*\n/gm, '')
}

/** A shell script with the program in place of `rowhouse` at the beginning of its commands. */
export const withProgram = (script: string, program: readonly string[]): string =>
  script.replaceAll(/(?<=^ *(?:\w+=\S+ +)*)rowhouse(?= )/gm, program.map((word) => `'${word}'`).join(' '))

/**
 * Runs a section as a shell script, and returns what it prints.
 *
 * @param adapt changes the text, for a server with another mount path
 */
export async function runSection(
  name: string,
  env: Readonly<Record<string, string>>,
  adapt: (text: string) => string = (text) => text,
): Promise<string> {
  const { PATH } = process.env
  const { stdout } = await run('/bin/sh', ['-e', '-c', adapt(readmeSection(name))], { env: { PATH, ...env } })
  return stdout
}

/** A section of JavaScript as an async function of the given names, which returns the values of the names it declares. */
export async function sectionFunction<Args extends readonly unknown[]>(
  name: string,
  parameters: { readonly [K in keyof Args]: string },
  returned: readonly string[] = [],
): Promise<(...args: Args) => Promise<Readonly<Record<string, unknown>>>> {
  const source = `export default async (${parameters.join()}) => { ${readmeSection(name)}; return { ${returned.join()} } }`
  const { default: section } = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    default: (...args: Args) => Promise<Readonly<Record<string, unknown>>>
  }
  return section
}
