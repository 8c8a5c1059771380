// The worker's side of the channel to the server.
import { Socket } from 'node:net'
import { channelDescriptor, type FromWorker, type ToWorker } from '../message.ts'
import { lineOf, readMessages } from '../message-lines.ts'

/** Ends the process. `process.exit` itself is replaced by what is for functions. */
export const exit: (code: number) => never = process.exit.bind(process)

const socket = new Socket({ fd: channelDescriptor, readable: true, writable: true })
socket.on('error', () => undefined)
// Without the server there is no one to serve.
socket.on('close', () => exit(0))

/** Sends a message to the server. The callback is called when the message has been written. */
export function report(message: FromWorker, onWritten?: () => void): void {
  socket.write(lineOf(message), () => onWritten?.())
}

/** Receives the messages of the server. */
export function receive(onMessage: (message: ToWorker) => void): void {
  const isMessage = (value: unknown): value is ToWorker => typeof value === 'object' && value !== null
  readMessages(socket, isMessage, onMessage, () => exit(1))
}
