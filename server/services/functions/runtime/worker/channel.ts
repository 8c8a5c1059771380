// The worker's side of the channel to the server.
import type { FromWorker, ToWorker } from '../message.ts'

const send = process.send?.bind(process)
// Functions neither send messages of their own nor close the channel.
for (const name of ['send', 'disconnect']) {
  Object.defineProperty(process, name, { value: undefined, configurable: true })
}

/** Ends the process. `process.exit` itself is replaced by what is for functions. */
export const exit: (code: number) => never = process.exit.bind(process)

// Without the server there is no one to serve.
process.on('disconnect', () => exit(0))

/** Sends a message to the server. The callback is called when the message has been written. */
export function report(message: FromWorker, onWritten?: () => void): void {
  send?.(message, undefined, undefined, () => onWritten?.())
}

/** Receives the messages of the server. */
export const receive = (onMessage: (message: ToWorker) => void): void => {
  process.on('message', onMessage)
}
