// The messages between the server and a child process that works on one image at a time.

/** Announces an image, whose bytes follow in the stream of `imageChannel`. */
export type ImageRequest<Task> = {
  readonly id: number
  readonly bytes: number
  /** What to do with the image. */
  readonly task: Task
}

/**
 * File descriptor, in the child process, of the stream of images. As messages they would be copied at once, while no
 * other request is served.
 */
export const imageChannel = 4

export type ImageReply<Result, Fault> =
  | { readonly kind: 'done'; readonly id: number; readonly result: Result }
  | { readonly kind: 'refused'; readonly id: number; readonly fault: Fault; readonly message: string }
  /** The work failed for another reason than the image. */
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }

export type ChildMessage<State, Result, Fault> =
  { readonly kind: 'ready'; readonly state: State } | ImageReply<Result, Fault>
