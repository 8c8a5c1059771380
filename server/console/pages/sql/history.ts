// Statements that were run in this browser, newest first.

export type PastRun = { readonly sql: string; readonly as: string; readonly at: number }

const storageKey = 'rowhouse.console.sql'
const maxRuns = 50
/** Characters of a text that is kept. */
const maxText = 20_000

/** Browsers may refuse storage: the history is then empty. */
export function pastRuns(): readonly PastRun[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]')
    return Array.isArray(value) ? value.filter(isPastRun) : []
  } catch {
    return []
  }
}

function isPastRun(value: unknown): value is PastRun {
  if (typeof value !== 'object' || value === null) return false
  const { sql, as, at } = value as Readonly<Record<string, unknown>>
  return typeof sql === 'string' && typeof as === 'string' && typeof at === 'number'
}

export function rememberRun(sql: string, as: string): void {
  if (sql.trim() === '' || sql.length > maxText) return
  const others = pastRuns().filter((run) => run.sql !== sql)
  store([{ sql, as, at: Date.now() }, ...others].slice(0, maxRuns))
}

export const forgetRuns = (): void => store([])

function store(runs: readonly PastRun[]): void {
  try {
    localStorage.setItem(storageKey, JSON.stringify(runs))
  } catch {
    // Storage is full or refused.
  }
}
