// What answers calls: worker processes of this server, or a server of one's own.
import type { FunctionDefinition } from './function-project.ts'
import type { FunctionRequest, FunctionResponse } from './runtime/function-source.ts'

export type Upstream = {
  /**
   * Calls a function.
   *
   * @returns the response, at its head. Its body fails where the response is incomplete
   * @throws FunctionError; FunctionFailure; the reason of the signal
   */
  readonly call: (definition: Pick<FunctionDefinition, 'name'>, request: FunctionRequest) => Promise<FunctionResponse>
  readonly stop: () => Promise<void>
}
