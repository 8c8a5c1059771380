// Counts of the service since the start, for metrics.

/** How a call of a tool has ended. `refused`: the arguments, the caller or the database did not allow it. */
export type ToolOutcome = 'answered' | 'refused' | 'failed'

export type McpFigures = {
  /** Calls by the name of the tool. */
  readonly tools: ReadonlyMap<string, Readonly<Record<ToolOutcome, number>>>
  /** Requests that were refused before the protocol, by reason. */
  readonly refusals: ReadonlyMap<string, number>
  /** Requests that run at the moment. */
  readonly running: number
}

export class McpStatistics implements McpFigures {
  running = 0
  readonly tools = new Map<string, Record<ToolOutcome, number>>()
  readonly refusals = new Map<string, number>()

  /** @param tool the name of a tool that there is: clients choose no names here */
  called(tool: string, outcome: ToolOutcome): void {
    const counts = this.tools.get(tool) ?? { answered: 0, refused: 0, failed: 0 }
    counts[outcome]++
    this.tools.set(tool, counts)
  }

  refused(reason: string): void {
    this.refusals.set(reason, (this.refusals.get(reason) ?? 0) + 1)
  }
}
