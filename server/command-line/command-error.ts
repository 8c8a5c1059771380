/** Ends a command: a message for the user, and the exit code. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options)
    this.name = 'CommandError'
    this.exitCode = options.exitCode ?? 1
  }
}
