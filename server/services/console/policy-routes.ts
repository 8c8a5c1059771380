// `/console/api/check`, `/policy-tests` and `/explain`: what policies allow, what is wrong with them, and what tests notice.
import { Failure, JsonText } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import type { Route } from '../../http/route.ts'
import { done, dto, failure, success } from '../../http/service-response.ts'
import { goneSignal } from '../client-gone.ts'
import type { ConsoleCaller, ConsoleParts } from './console-settings.ts'
import { requireDevelopment } from './development.ts'
import type { AcceptedMutant, ExplainRequest, FixRequest, NewPolicyTest, RunRequest } from './policy-protocol.ts'
import { viewerIdentity } from './viewer.ts'

/** Characters of a request in the log of changes. */
const maxLogged = 2000

const onlyDevelopment = failure('This is possible during development only.')
const unusable = failure('What was given, or a file of the project, cannot be used: the message says why.')

export const policyRoutes = (parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] => [
  ...checkRoutes(parts, access),
  ...testRoutes(parts, access),
  defineEnvelopeRoute({
    method: 'post',
    path: '/console/api/explain',
    id: 'consoleExplain',
    tag: 'console',
    summary: 'Run a request without effect, and explain its result',
    access,
    body: dto<ExplainRequest>('ConsoleExplainDto'),
    success: success(200, 'The explanation.', { type: 'object' }),
    errors: { 404: failure('There is no such role or user.'), 422: unusable },
    handler: async ({ caller, body, response }) => {
      const { explain } = await parts.tools()
      const identity = await viewerIdentity(parts, body.caller)
      const { request, trusted = [] } = body
      // What trusted functions do may remain.
      if (trusted.length > 0) {
        await parts.record(caller, 'explain with effects', {
          request: request.slice(0, maxLogged),
          trusted,
          as: body.caller,
        })
      }
      return { details: await explain(body, identity, goneSignal(response)) }
    },
  }),
]

const checkRoutes = (parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] => [
  defineEnvelopeRoute({
    method: 'get',
    path: '/console/api/check',
    id: 'consoleCheck',
    tag: 'console',
    summary: 'What is exposed to which role, and what is wrong with it',
    access,
    success: success(200, 'The findings and the exposed relations.', { type: 'object' }),
    errors: { 422: unusable },
    handler: async () => ({ details: new JsonText(await (await parts.tools()).check()) }),
  }),
  defineEnvelopeRoute({
    method: 'post',
    path: '/console/api/check/fixes',
    id: 'consoleFix',
    tag: 'console',
    summary: 'Try the fixes of findings, and write them as a migration',
    access,
    body: dto<FixRequest>('ConsoleFixDto'),
    success: success(200, 'What was tried and written.', { type: 'object' }),
    errors: { 403: onlyDevelopment, 422: unusable },
    handler: async ({ caller, body }) => {
      requireDevelopment(parts)
      const details = await (await parts.tools()).writeFixes(body)
      if (details.written !== null) await parts.record(caller, 'write migration', { path: details.written })
      return { details }
    },
  }),
]

const testRoutes = (parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] => [
  defineEnvelopeRoute({
    method: 'get',
    path: '/console/api/policy-tests',
    id: 'consolePolicyTests',
    tag: 'console',
    summary: 'The policy tests of the project',
    access,
    success: success(200, 'The files with their tests.', { type: 'object' }),
    handler: async () => ({ details: await (await parts.tools()).policyTests() }),
  }),
  defineEnvelopeRoute({
    method: 'post',
    path: '/console/api/policy-tests',
    id: 'consoleAddPolicyTest',
    tag: 'console',
    summary: 'Add a policy test to the files of the project',
    access,
    body: dto<NewPolicyTest>('ConsolePolicyTestDto'),
    success: success(201, 'The path of the file.', { type: 'object' }),
    errors: { 403: onlyDevelopment, 422: unusable },
    handler: async ({ caller, body }) => {
      requireDevelopment(parts)
      const path = await (await parts.tools()).addPolicyTest(body)
      await parts.record(caller, 'write policy test', { path, name: body.name })
      return { details: { path } }
    },
  }),
  defineEnvelopeRoute({
    method: 'post',
    path: '/console/api/policy-tests/accepted',
    id: 'consoleAcceptMutant',
    tag: 'console',
    summary: 'Accept that no policy test notices a weaker rule',
    access,
    body: dto<AcceptedMutant>('ConsoleAcceptedDto'),
    success: success(201, 'The path of the file.', { type: 'object' }),
    errors: { 403: onlyDevelopment, 422: unusable },
    handler: async ({ caller, body }) => {
      requireDevelopment(parts)
      const path = await (await parts.tools()).acceptMutant(body)
      await parts.record(caller, 'accept mutant', { path, ...body })
      return { details: { path } }
    },
  }),
  defineEnvelopeRoute({
    method: 'post',
    path: '/console/api/policy-tests/run',
    id: 'consoleRunPolicyTests',
    tag: 'console',
    summary: 'Run the policy tests, which goes on as long as it is asked for',
    access,
    body: dto<RunRequest>('ConsoleTestRunDto'),
    success: success(202, 'The run.', { type: 'object' }),
    errors: { 403: onlyDevelopment, 409: failure('Another run has not ended.'), 422: unusable },
    handler: async ({ caller, body }) => {
      requireDevelopment(parts)
      const details = await (await parts.tools()).startRun(body)
      if (body.kind === 'record') await parts.record(caller, 'record policy tests', {})
      return { details }
    },
  }),
  defineEnvelopeRoute({
    method: 'get',
    path: '/console/api/policy-tests/run',
    id: 'consolePolicyTestRun',
    tag: 'console',
    summary: 'The current run of the policy tests, or the last one',
    access,
    success: success(200, 'The run, with its results so far.', { type: 'object' }),
    errors: { 404: failure('There was no run.') },
    handler: async () => {
      const run = (await parts.tools()).currentRun()
      if (run === null) throw new Failure(404, 'The policy tests have not run')
      return { details: run }
    },
  }),
  defineEnvelopeRoute({
    method: 'delete',
    path: '/console/api/policy-tests/run',
    id: 'consoleCancelPolicyTests',
    tag: 'console',
    summary: 'Cancel the run of the policy tests',
    access,
    success: done('The run ends.'),
    handler: async () => {
      ;(await parts.tools()).cancelRun()
      return { message: 'Cancelled' }
    },
  }),
]
