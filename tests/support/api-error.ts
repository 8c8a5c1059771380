import { ApiError } from '../../server/rest/errors.ts'

/** The API error that a call ends in, as plain data; undefined when it succeeds. Other errors are thrown on. */
export function apiErrorOf(run: () => unknown) {
  try {
    run()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { code, status, message, details, hint } = error
    return { code, status, message, details, hint }
  }
  return undefined
}
