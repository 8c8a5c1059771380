// Why a tool did nothing: agents read the sentence and may try something else.

/** Its message is the server's own, and may quote what the agent has given. `data` comes from the database. */
export class ToolRefusal extends Error {
  /** JSON text. */
  readonly data: string | undefined

  constructor(message: string, data?: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'ToolRefusal'
    this.data = data
  }
}
