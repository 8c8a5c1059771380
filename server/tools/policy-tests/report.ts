// Collects the results of a run, and prints them as TAP: the summary, what failed, then the rest.
import type { JudgedMutant, TestResult } from './run.ts'
import { tapComment, tapPlan, tapPoint, tapVersion, type TapPoint } from './tap.ts'

/** A result of a run, for programs. */
export type ReportJson = {
  readonly tests: readonly object[]
  readonly coverage?: readonly object[]
  readonly mutants?: readonly object[]
}

export class TestReport {
  readonly #print: ((text: string) => void) | undefined
  readonly #tests: object[] = []
  readonly #coverage: object[] = []
  readonly #mutants: object[] = []
  readonly #points: TapPoint[] = []
  readonly #comments: string[] = []

  /** @param print gets the lines of TAP; undefined for none */
  constructor(print: ((text: string) => void) | undefined) {
    this.#print = print
  }

  get passes(): boolean {
    return !this.#points.some(isFailure)
  }

  test({ test, problem }: TestResult): void {
    const { name, file, line } = test
    const at = `${file}:${line}`
    this.#point({ ok: problem === null, name, ...(problem ? { diagnostics: { ...problem, at } } : {}) })
    this.#tests.push({ name, file, line, ok: problem === null, ...(problem ? { problem } : {}) })
  }

  mutant(result: JudgedMutant): void {
    this.#mutants.push(this.#judged(result, 'noticed', 'no test notices it'))
  }

  coverage(result: JudgedMutant): void {
    this.#coverage.push(this.#judged(result, 'exercised', 'no test depends on it'))
  }

  comment(text: string): void {
    this.#comments.push(text)
  }

  /** Prints the plan, a summary and all points, those that fail first. */
  end(): void {
    const count = (results: readonly object[], name: string): string[] => {
      if (results.length === 0) return []
      const lacking = results.filter((it) => 'outcome' in it && it.outcome === 'unnoticed').length
      const accepted = results.filter((it) => 'outcome' in it && it.outcome === 'accepted').length
      return [`${results.length} ${name}: ${lacking} unnoticed, ${accepted} accepted`]
    }
    const lines = [
      `${this.#tests.length} tests: ${this.#tests.filter((it) => 'ok' in it && it.ok === false).length} failed`,
      ...count(this.#coverage, 'policies, grants and checks'),
      ...count(this.#mutants, 'mutants'),
    ]
    const points = [...this.#points.filter(isFailure), ...this.#points.filter((it) => !isFailure(it))]
    this.#print?.(
      [
        tapVersion,
        tapPlan(points.length),
        ...[...lines, ...this.#comments].map(tapComment),
        ...points.map((point, index) => tapPoint(index + 1, point)),
      ].join(''),
    )
  }

  json(): ReportJson {
    return {
      tests: this.#tests,
      ...(this.#coverage.length > 0 ? { coverage: this.#coverage } : {}),
      ...(this.#mutants.length > 0 ? { mutants: this.#mutants } : {}),
    }
  }

  #judged({ mutant, noticedBy, error, accepted }: JudgedMutant, good: string, bad: string): object {
    const { id, sql } = mutant
    const isUnnoticed = noticedBy === undefined
    this.#point({
      ok: !isUnnoticed,
      name: `${isUnnoticed ? bad : good}: ${id}`,
      ...(isUnnoticed && accepted ? { todo: accepted.reason } : {}),
      ...(isUnnoticed && !accepted ? { diagnostics: { ...(error === undefined ? {} : { error }), sql } } : {}),
    })
    if (!isUnnoticed && accepted) {
      this.comment(`${accepted.file}:${accepted.line}: a test notices this mutant, so the entry can be removed`)
    }
    return {
      mutant: id,
      outcome: isUnnoticed ? (accepted ? 'accepted' : 'unnoticed') : 'noticed',
      ...(noticedBy ? { by: noticedBy.name } : {}),
      ...(isUnnoticed && accepted ? { reason: accepted.reason } : {}),
      ...(error === undefined ? {} : { error }),
    }
  }

  #point(point: TapPoint): void {
    this.#points.push(point)
  }
}

const isFailure = ({ ok, todo }: TapPoint): boolean => !ok && todo === undefined
