// Writes the pages of settings in server/config: `npm run guides`.
import { readFile, writeFile } from 'node:fs/promises'
import { settingsPages, withIndex } from './settings-pages.ts'

const folder = new URL('../../server/config/', import.meta.url)
const start = new URL('README.md', folder)
await writeFile(start, withIndex(await readFile(start, 'utf8')))
for (const [name, text] of settingsPages) await writeFile(new URL(name, folder), text)
