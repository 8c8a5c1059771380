import type { Extension } from '../../extension.ts'
import { preconditionOfPlan } from './precondition.ts'
import { addDocumentValidator, addValidator } from './validator.ts'
import { withVersion } from './planned-versions.ts'

/** Entity tags, and the headers `If-Match` and `If-None-Match`. */
export const conditionalRequests: Extension = {
  plan: withVersion,
  requirement: preconditionOfPlan,
  respond: (response, plan, row, { request }, { snapshot }) =>
    addValidator(response, plan, row, request, snapshot.config),
  respondDocument: addDocumentValidator,
}
