// Functions as the console shows them: with the figures and logs of all processes of `server-workers`.
import { figuresOf, linesOf, type FunctionsSource } from '../services/console/functions-source.ts'
import type { FunctionsService } from '../services/functions/functions-service.ts'
import type { WorkerQuestions } from './worker-questions.ts'

/** @param workers undefined if this process is the only one */
export function functionsOfProcesses(service: FunctionsService, workers: WorkerQuestions | undefined): FunctionsSource {
  const { view, check } = service
  const figures = (): ReturnType<typeof figuresOf> => figuresOf(service)
  const lines = (name: string): ReturnType<typeof linesOf> => linesOf(service, name)
  if (!workers) {
    return { view, check, figures: () => Promise.resolve([figures()]), logs: (name) => Promise.resolve([lines(name)]) }
  }
  workers.answer('function figures', figures)
  workers.answer('function log', lines)
  return {
    view,
    check,
    figures: () => workers.ask('function figures', '', figures),
    logs: (name) => workers.ask('function log', name, () => lines(name)),
  }
}
