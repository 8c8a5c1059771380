// Messages as lines of JSON on a socket between the server and a worker. The channel of `child_process` would do, but throws
// in the server when a function writes anything else to its file descriptor.
import type { Duplex } from 'node:stream'

/** Characters of a message: longer than any that a worker sends. */
const longestLine = 2 ** 20

export const lineOf = (message: object): string => `${JSON.stringify(message)}\n`

/** @returns undefined for text that is no JSON */
function valueOf(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/**
 * Reads messages until one is invalid.
 *
 * @param isValid whether a value, which may be anything, is a message
 * @param onInvalid is called once, for a line that is no message or is too long
 */
export function readMessages<Message>(
  socket: Duplex,
  isValid: (value: unknown) => value is Message,
  onMessage: (message: Message) => void,
  onInvalid: () => void,
): void {
  let rest = ''
  const read = (text: string): void => {
    const [first = '', ...more] = text.split('\n')
    const lines = [rest + first, ...more]
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const message = valueOf(line)
      if (!isValid(message)) return refuse()
      onMessage(message)
    }
    if (rest.length > longestLine) refuse()
  }
  const refuse = (): void => {
    socket.off('data', read).destroy()
    onInvalid()
  }
  socket.setEncoding('utf8').on('data', read)
}
