// What the console asks of functions: of this process, or of all that serve.
import type { FunctionsService } from '../functions/functions-service.ts'
import type { FunctionLogLine } from './function-protocol.ts'
import type { ProcessFigures } from './total-figures.ts'

/** Figures and lines are those of each process. Undefined: it has not answered. */
export type FunctionsSource = Pick<FunctionsService, 'view' | 'check'> & {
  readonly figures: () => Promise<readonly (ProcessFigures | undefined)[]>
  readonly logs: (name: string) => Promise<readonly (readonly FunctionLogLine[] | undefined)[]>
}

/** Lines of a log that are shown. */
export const mostLines = 500
/** Characters of a message. */
const longest = 4000

/** The figures of this process, as JSON can contain them. */
export function figuresOf(service: Pick<FunctionsService, 'figures'>): ProcessFigures {
  const { functions, running, workers = null } = service.figures()
  return { functions: [...functions], running, workers }
}

/** The latest lines of a function in this process, the newest last. */
export const linesOf = (service: Pick<FunctionsService, 'logs'>, name: string): readonly FunctionLogLine[] =>
  service
    .logs(name)
    .slice(-mostLines)
    .map(({ time, level, requestId, message }) => ({
      at: time.toISOString(),
      level,
      requestId: requestId ?? null,
      message: message.length > longest ? `${message.slice(0, longest)}…` : message,
    }))
