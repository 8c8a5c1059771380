// Errors in the files of functions.

/** The folder of functions, `config.toml` or a file of the environment cannot be used. The message is for the owner of the files. */
export class FunctionProjectError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'FunctionProjectError'
  }
}
