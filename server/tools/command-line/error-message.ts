// Messages of errors, as commands print them.

/** The message of an error; for unexpected errors, its stack trace. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isBug = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError
  if (isBug) return error.stack ?? error.message
  if (error.message === '' && error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error.message
}
