// Answers of routes, compared with what the routes document.
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Test } from 'tap'
import type { ServiceRoute } from '../../server/http/service-route.ts'
import { restErrorSchema } from '../../server/services/openapi/rest-component.ts'
import { readSchemas } from '../../server/validation/schema-directory.ts'
import { ownSchemas } from '../../server/validation/validator.ts'
import type { Answer } from './call.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
for (const { schema } of await readSchemas(ownSchemas)) ajv.addSchema(schema)
/** Of the document. */
const components = { schemas: { RestError: restErrorSchema } }

/** A request that gets this status. */
export type Provocation = readonly [status: number, send: () => Promise<Answer>]

/**
 * Sends requests to a route. Each must get its status, with the body that the route documents for it, and together they
 * must get every status that the route documents.
 */
export async function walkRoute(t: Test, route: ServiceRoute, requests: readonly Provocation[]): Promise<void> {
  const statuses = new Set<number>()
  for (const [status, send] of requests) {
    const answer = await send()
    statuses.add(answer.status)
    checkAnswer(t, route, status, answer)
  }
  t.strictSame([...statuses].sort(), Object.keys(route.responses).map(Number), `${route.id}: all that it documents`)
}

function checkAnswer(t: Test, { id, responses }: ServiceRoute, status: number, answer: Answer): void {
  const label = `${id} ${status}`
  t.equal(answer.status, status, `${label}: ${answer.text.slice(0, 200)}`)
  const response = responses[answer.status]
  if (!response) {
    t.fail(`${label}: ${answer.status} is not documented`)
    return
  }
  const { schema, media = 'application/json' } = response
  if (!schema) {
    t.equal(answer.text, '', `${label}: no body`)
    return
  }
  t.equal(answer.headers.get('content-type')?.split(';', 1)[0], media, `${label}: media type`)
  const body = media === 'application/json' ? answer.body : answer.text
  t.ok(ajv.validate({ ...schema, components }, body), `${label}: ${ajv.errorsText()}: ${answer.text.slice(0, 200)}`)
}
