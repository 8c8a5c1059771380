// Reports how far an import has come.

/** The state of an import. */
export type ImportEvent = {
  readonly state: 'running' | 'done' | 'failed'
  /** `schema.name` of the relation. */
  readonly relation: string
  /** Rows and bytes of the body that have arrived. */
  readonly rows: number
  readonly bytes: number
  readonly milliseconds: number
}

/** An import is reported after so many rows or milliseconds, but not more often than once in the shortest pause. */
const rowStep = 100_000
const longestPause = 10_000
const shortestPause = 1_000

export class ImportProgress {
  readonly #relation: string
  readonly #report: (event: ImportEvent) => void
  readonly #now: () => number
  readonly #start: number
  #lastReport: number
  #nextRows = rowStep
  #rows = 0
  #bytes = 0

  /** @param now milliseconds that only increase */
  constructor(relation: string, report: (event: ImportEvent) => void, now: () => number = () => performance.now()) {
    this.#relation = relation
    this.#report = report
    this.#now = now
    this.#start = this.#lastReport = now()
  }

  /** Records what has arrived so far, and reports it when it is time. */
  record(rows: number, bytes: number): void {
    this.#rows = rows
    this.#bytes = bytes
    const pause = this.#now() - this.#lastReport
    if (pause < shortestPause || (pause < longestPause && rows < this.#nextRows)) return
    this.#lastReport += pause
    this.#nextRows = rows + rowStep
    this.#send('running')
  }

  /** Reports the end. */
  end(state: 'done' | 'failed'): void {
    this.#send(state)
  }

  #send(state: ImportEvent['state']): void {
    const milliseconds = this.#now() - this.#start
    this.#report({ state, relation: this.#relation, rows: this.#rows, bytes: this.#bytes, milliseconds })
  }
}
