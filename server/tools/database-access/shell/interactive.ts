// The shell on a terminal: reads lines with editing and a history that ends with the process.
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Lines } from './lines.ts'
import type { Shell } from './shell.ts'

/**
 * Runs the shell until `\q` or Ctrl-D.
 *
 * @param cancel cancels the running statement
 */
export async function runInteractively(
  shell: Shell,
  { input, output, cancel }: { readonly input: Readable; readonly output: Writable; readonly cancel: () => void },
): Promise<void> {
  const reader = createInterface({ input, output, terminal: true, historySize: 1000 })
  const arrived: string[] = []
  let waiting: ((line: string | undefined) => void) | undefined
  let isClosed = false
  reader.on('line', (line) => {
    if (waiting) waiting(line)
    else arrived.push(line)
    waiting = undefined
  })
  reader.on('close', () => {
    isClosed = true
    waiting?.(undefined)
  })
  reader.on('SIGINT', () => {
    if (shell.isRunning) return cancel()
    // Discards what was entered, as psql does.
    shell.discard()
    output.write('\n')
    reader.setPrompt(shell.prompt)
    reader.write(null, { ctrl: true, name: 'e' })
    reader.write(null, { ctrl: true, name: 'u' })
    reader.prompt()
  })
  const lines: Lines = {
    next: (prompt) => {
      const line = arrived.shift()
      if (line !== undefined || isClosed) return Promise.resolve(line)
      reader.setPrompt(prompt)
      reader.prompt()
      return new Promise((resolve) => (waiting = resolve))
    },
  }
  try {
    await shell.run(lines)
  } finally {
    reader.close()
  }
}
