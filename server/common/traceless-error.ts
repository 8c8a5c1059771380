// Errors that are an expected outcome. Nobody reads where they were created, and a stack trace costs more than all the rest
// of a refusal.

type ErrorClass = new (message: string, cause?: unknown) => Error

const hidden = (value: unknown): PropertyDescriptor => ({
  value,
  writable: true,
  configurable: true,
  enumerable: false,
})

function Traceless(this: Error, message: string, cause?: unknown): void {
  Object.defineProperty(this, 'message', hidden(message))
  if (cause !== undefined) Object.defineProperty(this, 'cause', hidden(cause))
}
// The constructor of Error is what captures the trace, so it is left out.
Traceless.prototype = Object.create(Error.prototype, { constructor: hidden(Traceless) }) as Error

/** An `Error` without a stack trace, to be extended. Its arguments are the message and the error that caused it. */
export const TracelessError = Traceless as unknown as ErrorClass
