import type { Extension } from '../../extension.ts'
import { PositionTokens } from './position-token.ts'
import { RequestConsistency } from './request-consistency.ts'

/** Reads that see the earlier writes of their client, whichever replica they run on. */
export const readYourWrites: Extension = {
  parts: (_config, secrets) => ({ positions: new PositionTokens(secrets) }),
  consistency: (request, { positions }) => positions && new RequestConsistency(request, positions),
}
