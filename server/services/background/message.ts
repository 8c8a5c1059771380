// The messages between the server and a background process.

/** Announces a task. Its bytes follow in the stream of `bytesChannel`. */
export type TaskRequest<Task> = {
  readonly id: number
  readonly task: Task
  /** Number of bytes. */
  readonly bytes: number
}

/**
 * File descriptor, in the background process, of the stream of bytes. As messages they would be copied at once, while no
 * other request is served.
 */
export const bytesChannel = 4

export type TaskReply<Result, Fault> =
  | { readonly kind: 'done'; readonly id: number; readonly result: Result }
  | { readonly kind: 'refused'; readonly id: number; readonly fault: Fault; readonly message: string }
  /** The work failed for another reason than the task. */
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }

export type ProcessMessage<State, Result, Fault> =
  { readonly kind: 'ready'; readonly state: State } | TaskReply<Result, Fault>
