// Hears of notifications on a channel, on the connection that the server listens on anyway.

/** Forwards the notices of a channel. Every role may notify, so a notice is only a reason to look. */
export class ChannelNotices {
  readonly channel: string
  #isListening = false
  #onNotice: () => void = () => undefined

  constructor(channel: string) {
    this.channel = channel
  }

  /** @param onNotice called for each notice, and when notices may have been missed */
  subscribe(onNotice: () => void): void {
    this.#onNotice = onNotice
    if (this.#isListening) onNotice()
  }

  /** Notices may have been missed before. */
  setListening(isListening: boolean): void {
    this.#isListening = isListening
    if (isListening) this.#onNotice()
  }

  notify(): void {
    this.#onNotice()
  }
}
