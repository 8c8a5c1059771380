// Questions among the processes of `server-workers`, so that one of them can show what all of them know.
import { randomUUID } from 'node:crypto'
import { isInTime } from '../common/timers.ts'
import { reportToPrimary, type WorkerAnswer, type WorkerQuestion } from './workers.ts'

/** What is asked for. */
export type Topic = WorkerQuestion['topic']

/** Milliseconds that the other workers have to answer. */
const answerLimit = 1000

export class WorkerQuestions {
  /** Index of this worker. */
  readonly worker: number
  readonly #count: number
  readonly #answers = new Map<Topic, (about: string) => unknown>()
  readonly #asked = new Map<string, (answer: WorkerAnswer) => void>()
  readonly #last = new Map<Topic, Promise<unknown>>()

  /** @param count number of processes */
  constructor(worker: number, count: number) {
    this.worker = worker
    this.#count = count
    process.on('message', (message: Partial<WorkerQuestion> | WorkerAnswer) => {
      if (message.kind === 'question') void this.#respond(message as WorkerQuestion)
      if (message.kind === 'answer') this.#asked.get(message.id)?.(message)
    })
  }

  /**
   * Says how this worker answers. A question that it has no answer to, or whose answer fails, counts as one that it has not answered.
   *
   * @param answer returns what JSON can contain
   */
  answer(topic: Topic, answer: (about: string) => unknown): void {
    this.#answers.set(topic, answer)
  }

  /**
   * Asks all other workers.
   *
   * @param about what the question is about; for each topic, what its answers expect
   * @param own the answer of this worker
   * @returns the answers of all, in the order of their indexes; undefined for those that do not answer within a second
   */
  ask<Answer>(
    topic: Topic,
    about: string,
    own: () => Answer | Promise<Answer>,
  ): Promise<readonly (Answer | undefined)[]> {
    // One at a time: the primary process asks a worker again only after its answer.
    const next = (this.#last.get(topic) ?? Promise.resolve()).then(() => this.#gather(topic, about, own))
    this.#last.set(
      topic,
      next.catch(() => undefined),
    )
    return next
  }

  async #gather<Answer>(
    topic: Topic,
    about: string,
    own: () => Answer | Promise<Answer>,
  ): Promise<readonly (Answer | undefined)[]> {
    const id = randomUUID()
    const answers = new Map<number, Answer>()
    let missing = this.#count - 1
    const complete = new Promise<void>((resolve) =>
      this.#asked.set(id, ({ worker, answer }) => {
        if (answer !== undefined) answers.set(worker, answer as Answer)
        if (--missing === 0) resolve()
      }),
    )
    try {
      reportToPrimary({ kind: 'question', id, from: this.worker, topic, about })
      const [mine] = await Promise.all([own(), isInTime(answerLimit, complete)])
      answers.set(this.worker, mine)
    } finally {
      this.#asked.delete(id)
    }
    return Array.from({ length: this.#count }, (_, worker) => answers.get(worker))
  }

  async #respond({ id, from, topic, about }: WorkerQuestion): Promise<void> {
    let answer: unknown
    try {
      answer = await this.#answers.get(topic)?.(about)
    } catch {
      // The one that asks sees that it is missing.
    }
    reportToPrimary({ kind: 'answer', id, from, topic, worker: this.worker, answer })
  }
}
