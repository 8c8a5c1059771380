// Runs the program's commands to their end.
import { execFile } from 'node:child_process'
import { main } from './program.ts'

export type Ran = { readonly code: number; readonly out: string; readonly err: string }

/** Runs the program in a separate process with its own environment. The code is -1 after a signal. */
export const rowhouse = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> =>
  new Promise((resolve) => {
    const inherited = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(PGRST_|PG|DATABASE_URL|MIGRATION_|DATA_DIR)/.test(name)),
    )
    execFile(process.execPath, [main, ...args], { env: { ...inherited, ...env } }, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err }),
    )
  })
