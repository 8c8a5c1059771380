// How the programs of tests start Node.js: as `npm start` does.
import { readFileSync } from 'node:fs'

/** The options of Node.js in a command that starts `dist/main.js serve`. */
export const nodeOptionsIn = (command: string): string[] =>
  /node(?<options>(?: --\S+)*) \S*dist\/main\.js serve/.exec(command)?.groups?.options?.trim().split(' ') ?? []

const manifest = new URL('../../package.json', import.meta.url)
const { scripts } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly scripts: { readonly start: string } }

/** Those of `npm start`. */
export const nodeOptions: readonly string[] = nodeOptionsIn(scripts.start)
