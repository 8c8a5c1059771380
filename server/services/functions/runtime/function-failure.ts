// Calls that the runtime could not complete, with the statuses, codes and sentences of Supabase's edge runtime where it has them.
// https://supabase.com/docs/guides/functions/status-codes
import { TracelessError } from '../../../common/traceless-error.ts'

const failures = {
  boot: [503, 'BOOT_ERROR', 'Worker failed to boot (please check logs)'],
  crashed: [500, 'WORKER_ERROR', 'Function exited due to an error (please check logs)'],
  'timed out': [504, 'IDLE_TIMEOUT', 'Function did not respond in time (please check logs)'],
  memory: [546, 'WORKER_LIMIT', 'Worker failed to respond due to a resource limit (please check logs)'],
  cpu: [546, 'WORKER_LIMIT', 'Worker failed to respond due to a resource limit (please check logs)'],
  busy: [503, 'BUSY', 'Too many calls of functions at the same time'],
  'request too large': [413, 'REQUEST_TOO_LARGE', 'The body of the request is too large'],
  'response too large': [500, 'RESPONSE_TOO_LARGE', 'The response of the function is too large (please check logs)'],
} as const

export type FailureKind = keyof typeof failures

/** A call that has no response, or whose response is incomplete. */
export class FunctionFailure extends TracelessError {
  readonly kind: FailureKind
  readonly status: number
  readonly code: string
  /** For the log and the owner of the function: file and line, stack trace, package to install. */
  readonly detail: string

  constructor(kind: FailureKind, detail: string) {
    const [status, code, message] = failures[kind]
    super(message)
    this.kind = kind
    this.status = status
    this.code = code
    this.detail = detail
  }

  /** The body of the response. */
  toJSON(): { code: string; message: string } {
    return { code: this.code, message: this.message }
  }
}
