// Errors that are an expected outcome. Their stack trace is never read, and capturing it costs more than the rest of the
// error response.

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
// The constructor of Error captures the stack trace, so it is not called.
Traceless.prototype = Object.create(Error.prototype, { constructor: hidden(Traceless) }) as Error

/** Base class for errors without a stack trace. Its arguments are the message and the error that caused it. */
export const TracelessError = Traceless as unknown as ErrorClass
