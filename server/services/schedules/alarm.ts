// A wait that something else can end.

export class Alarm {
  #timer: NodeJS.Timeout | undefined
  #end: (() => void) | undefined
  #isRinging = false

  /** Resolves after so many milliseconds, or at the next `ring`; at once if it was called since the last wait. */
  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#end = () => {
        clearTimeout(this.#timer)
        this.#end = undefined
        this.#isRinging = false
        resolve()
      }
      if (this.#isRinging) return this.#end()
      this.#timer = setTimeout(this.#end, milliseconds)
      // The process need not live for it.
      this.#timer.unref()
    })
  }

  ring(): void {
    this.#isRinging = true
    this.#end?.()
  }
}
