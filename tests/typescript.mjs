// Loads TypeScript in tests: each file is compiled by esbuild once, then read from a folder of compiled files. In a test
// that starts the whole application this takes half the processor time of tsx. Types are checked by `npm run typecheck`.
import { register } from 'node:module'

register('./typescript-hooks.mjs', import.meta.url)
