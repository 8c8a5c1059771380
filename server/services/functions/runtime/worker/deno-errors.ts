// `Deno.errors`. https://docs.deno.com/api/deno/~/Deno.errors

const errorClass = (name: string): new (message?: string, options?: ErrorOptions) => Error =>
  ({
    [name]: class extends Error {
      override name = name
    },
  })[name] as new (message?: string, options?: ErrorOptions) => Error

const names = [
  'AddrInUse',
  'AddrNotAvailable',
  'AlreadyExists',
  'BadResource',
  'BrokenPipe',
  'Busy',
  'ConnectionAborted',
  'ConnectionRefused',
  'ConnectionReset',
  'FilesystemLoop',
  'Http',
  'Interrupted',
  'InvalidData',
  'IsADirectory',
  'NotADirectory',
  'NotCapable',
  'NotConnected',
  'NotFound',
  'NotSupported',
  'PermissionDenied',
  'TimedOut',
  'UnexpectedEof',
  'WouldBlock',
  'WriteZero',
  'InvalidWorkerCreation',
  'InvalidWorkerResponse',
  'WorkerAlreadyRetired',
  'WorkerRequestCancelled',
  'WorkerRequestIdleTimeout',
] as const

export const denoErrors = Object.fromEntries(names.map((name) => [name, errorClass(name)])) as Record<
  (typeof names)[number],
  ReturnType<typeof errorClass>
>

export const { AddrInUse, IsADirectory, NotCapable, NotFound, NotSupported } = denoErrors
