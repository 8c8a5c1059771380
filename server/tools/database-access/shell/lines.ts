// The lines that the shell reads.
import type { CopyRows } from '../../../postgres/connection/simple-statement.ts'
import { LineReader } from '../line-reader.ts'

/** Source of lines. The prompt is for a terminal. */
export type Lines = { next: (prompt: string) => Promise<string | undefined> }

/** Passes lines to `COPY … FROM STDIN`, up to `\.` or the end of the input. */
export async function copyFrom(lines: Lines, sink: CopyRows): Promise<void> {
  for (;;) {
    const line = await lines.next('>> ')
    if (line === undefined || line === '\\.') return
    await sink.write(Buffer.from(`${line}\n`))
  }
}

/** The lines of a stream of UTF-8. */
export function linesOf(input: AsyncIterable<Buffer>): Lines {
  const reader = new LineReader(input)
  return {
    next: async () => {
      const line = await reader.next()
      return line?.toString('utf8').replace(/\r$/, '')
    },
  }
}
