// What a connection of live detection may send beside images: each message costs time, whatever its length.

/** Messages in succession without an image. */
const mostJunk = 100
/**
 * Messages that wait while one is handled. They arrived in one chunk of at most 64 KiB: so many in a chunk are too short
 * for images.
 */
const mostWaiting = 1000
/** Pings and pongs between two pings of the server. */
const mostControls = 100

/** Counts the messages of one connection. When a function returns false, the connection is to be closed. */
export class SocketMessages {
  #junk = 0
  #controls = 0

  /** @param waiting number of messages that have arrived and are not handled */
  mayWait(waiting: number): boolean {
    return waiting <= mostWaiting
  }

  /** Counts a message without an image. */
  mayBeJunk(): boolean {
    return ++this.#junk < mostJunk
  }

  /** Counts a ping or a pong. */
  mayControl(): boolean {
    return ++this.#controls <= mostControls
  }

  /** Call this for each image within the caller's limit. */
  imageCounted(): void {
    this.#junk = 0
  }

  /** Call this with each ping of the server. */
  beginPeriod(): void {
    this.#controls = 0
  }
}
