import { ApiError } from '../../server/rest/errors.ts'

/** The API error that a call throws, as plain data; undefined if it succeeds. Other errors are rethrown. */
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
