// The errors of a batch: PGRSTX10 to PGRSTX14. Those of its requests have the codes that they have alone.
import { apiError, ApiError, errors } from '../../errors.ts'

export const batchErrors = {
  /** @param details what is wrong, and what is allowed */
  invalid: (details: string) => apiError('PGRSTX10', 'The batch is not valid', { details }),
  tooMany: (requests: number, limit: number) =>
    apiError('PGRSTX11', 'The batch has too many requests', {
      details: `It has ${requests}, and the limit is ${limit} (batch-max-requests).`,
    }),
  /** @param limit of the commas, colons and opening brackets */
  tooManyValues: (limit: number) =>
    apiError('PGRSTX11', 'The batch has too many values', {
      details: `Its JSON may have ${limit} commas, colons and opening brackets.`,
      hint: 'Send several batches, or insert many rows with a request of its own.',
    }),
  /** @param limit in bytes */
  headTooLarge: (bytes: number, limit: number) =>
    apiError('PGRSTX11', 'The url and the headers of the request are too large', {
      status: 431,
      details: `They have ${bytes} bytes, and the limit is ${limit} (request-header-limit).`,
    }),
  /** @param limit in bytes */
  responsesTooLarge: (limit: number) =>
    apiError('PGRSTX11', 'The responses of the batch are too large', {
      details: `The limit is ${limit} bytes in total (batch-max-bytes).`,
      hint: 'Ask for fewer rows or columns, or prefer return=minimal.',
    }),
  /** @param limit in bytes */
  valuesTooLarge: (limit: number) =>
    apiError('PGRSTX11', 'The batch is too large with the values of its references', {
      details: `The limit is ${limit} bytes in total (batch-max-bytes).`,
      hint: 'Refer to single values, and let a function of the database use large ones.',
    }),
  /** @param reference as the user wrote it */
  reference: (reference: string, details: string) =>
    apiError('PGRSTX12', `The reference ${reference} has no value`, { details }),
  /** A value that would change the grammar of the url. */
  referenceInUrl: (reference: string, details: string) =>
    apiError('PGRSTX12', `The reference ${reference} cannot stand there`, { details }),
  /** The database has set a status of an error (`response.status`), which undoes a batch. */
  statusSet: (status: number, details: unknown) =>
    apiError('PGRSTX13', `The request was answered with the status ${status}`, { details }).with({ status }),
  /** Never sent: an earlier request has failed. */
  notRun: () => apiError('PGRSTX13', 'The request was not run'),
  invalidJson: () => apiError('PGRSTX13', 'The response is of a JSON media type, but is not valid JSON'),
  isolation: (needed: string, given: string) =>
    apiError('PGRSTX14', `The request needs the isolation level ${needed}, but the batch runs with ${given}`, {
      details: 'The function is known only when a reference has its value, and the transaction has begun by then.',
      hint: 'Write the path and the names of the arguments without references.',
    }),
}

/** The same error with the id of the request. */
export const ofRequest = (error: ApiError, request: string): ApiError => error.with({ line: undefined, request })

/**
 * The error of a response whose status is that of an error: its body says which, unless SQL has set the status. The
 * response to HEAD has no body.
 */
export function ofResponse(method: string, status: number, body: string): ApiError {
  if (status === 416) {
    if (method === 'HEAD') return errors.rangeNotSatisfiable('beyond the rows')
    const error = errorOf(body)
    if (error) return new ApiError({ ...error, status })
  }
  return batchErrors.statusSet(status, body === '' ? null : body)
}

type KnownBody = {
  readonly code: string
  readonly message: string
  readonly details?: unknown
  readonly hint?: string | null
}

function errorOf(body: string): KnownBody | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return isErrorBody(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isErrorBody = (value: unknown): value is KnownBody =>
  typeof value === 'object' && value !== null && 'code' in value && 'message' in value
