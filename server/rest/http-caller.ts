// The client of a request, as someone who may stop waiting for the response.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from './database.ts'

export class HttpCaller implements Caller {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
  }

  get isGone(): boolean {
    return this.#request.socket.destroyed && !this.#response.writableFinished
  }

  onGone(listener: () => void): () => void {
    // The response itself closes too early, when it is complete, and never, when it is queued behind another one.
    const { socket } = this.#request
    const onClose = (): void => {
      if (this.isGone) listener()
    }
    // One for each request that was sent before the answer to the first.
    socket.setMaxListeners(0)
    socket.once('close', onClose)
    return () => socket.off('close', onClose)
  }
}
