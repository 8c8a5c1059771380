// Scenarios in Python, whose checks are lines of TAP.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const folderOfScripts = fileURLToPath(new URL('../python/', import.meta.url))

/** @returns why clients in Python cannot run on this machine, or undefined */
export function whyNoPython(): string | undefined {
  const { status, error, stderr } = spawnSync(
    'python3',
    ['-c', 'import sys, venv, ensurepip; assert sys.version_info >= (3, 9)'],
    {
      encoding: 'utf8',
    },
  )
  if (error) return 'there is no `python3`'
  return status === 0
    ? undefined
    : `\`python3\` is too old or has no \`venv\`: ${stderr.trim().split('\n').at(-1) ?? ''}`
}

/**
 * Runs a script of `tests/clients/python` as a test.
 *
 * @param folder the virtual environment
 * @param name of the script, without its extension
 * @param env variables that the script reads
 */
export async function runScript(
  t: Test,
  folder: string,
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const options = { env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env } }
  await t.spawn(join(folder, 'bin/python'), [join(folderOfScripts, `${name}.py`)], options, name)
}
