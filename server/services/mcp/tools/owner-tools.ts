// Tools of the project's owner: lints, policy tests and migrations, as the command line and the console have them.
import { setTimeout as pause } from 'node:timers/promises'
import { Failure } from '../../../http/envelope.ts'
import { fittingTexts } from '../fitting-texts.ts'
import { ownerRole } from '../mcp-callers.ts'
import { defineTool, type Offer } from '../tool.ts'
import { ToolRefusal } from '../tool-refusal.ts'
import type { PolicyTestRun } from '../../console/policy-protocol.ts'

const onlyOwner = ({ role }: Offer): string | undefined =>
  role === ownerRole ? undefined : `it needs a secret key, of ${ownerRole}`

const onlyDevelopment = (offer: Offer): string | undefined =>
  onlyOwner(offer) ??
  (offer.isDevelopment
    ? undefined
    : 'it is offered during development only: on the embedded database of a project, and without NODE_ENV=production')

export const checkTool = defineTool<Record<string, never>>({
  name: 'check_policies',
  title: 'Check what is exposed',
  description:
    'Looks for mistakes in privileges, policies and the schema, as `rowhouse check`: each finding says what is exposed to whom, why that matters, and how to mend it.',
  schema: 'urn:rowhouse:McpCheckArguments',
  effect: 'reads',
  refusal: onlyOwner,
  run: async (_given, { parts }) => {
    const tools = await parts.consoleTools()
    const { findings, ignored, unseen } = await tools.findings()
    const fitting = fittingTexts(
      findings.map((finding) => JSON.stringify(finding)),
      parts.snapshot().config.mcpMaxBytes,
    )
    return {
      heading: `${findings.length} findings${fitting.isCut ? `, of which the first ${fitting.texts.length} are shown` : ''}.`,
      data: `{"findings":[${fitting.texts.join(',\n')}],"ignored":${ignored},"unseen":${JSON.stringify(unseen)}}`,
      own: { findings: findings.length, is_cut: fitting.isCut },
    }
  },
})

/** Milliseconds between two looks at a run. */
const lookPause = 250

export const policyTestsTool = defineTool<{ readonly filter?: string }>({
  name: 'run_policy_tests',
  title: 'Run policy tests',
  description:
    'Runs the policy tests of the project on a database of their own, as `rowhouse test`. `filter` runs only those whose name contains the text. Run them after each change of policies.',
  schema: 'urn:rowhouse:McpPolicyTestsArguments',
  effect: 'reads',
  refusal: onlyDevelopment,
  run: async ({ filter }, { parts, signal }) => {
    const tools = await parts.consoleTools()
    let run: PolicyTestRun | null = await tools.startRun({ kind: 'tests', ...(filter === undefined ? {} : { filter }) })
    while (run?.state === 'running') {
      await pause(lookPause, undefined, { signal }).catch((error: unknown) => {
        tools.cancelRun()
        throw error
      })
      run = tools.currentRun()
    }
    if (run?.state !== 'done') {
      throw new ToolRefusal('The tests could not be run.', JSON.stringify({ state: run?.state, error: run?.error }))
    }
    const failed = run.tests.filter(({ problem }) => problem !== null)
    const fitting = fittingTexts(
      failed.map((test) => JSON.stringify(test)),
      parts.snapshot().config.mcpMaxBytes,
    )
    return {
      heading: `${run.tests.length - failed.length} of ${run.tests.length} tests passed.`,
      data: `{"failed":[${fitting.texts.join(',\n')}]}`,
      own: { passed: run.tests.length - failed.length, failed: failed.length, is_cut: fitting.isCut },
    }
  },
})

export const migrationTool = defineTool<{ readonly name: string; readonly sql: string }>({
  name: 'write_migration',
  title: 'Write a migration',
  description:
    'Writes SQL as a new file into the folder of migrations. A server in development applies it at once, as the owner of the database: show the SQL to the user first. It never replaces a file; the name has letters, digits and underscores, such as create_tasks, and gets a number.',
  schema: 'urn:rowhouse:McpMigrationArguments',
  effect: 'destroys',
  refusal: (offer) =>
    onlyDevelopment(offer) ?? (offer.config.mcpMode === 'read-write' ? undefined : 'MCP_MODE is read-only'),
  run: async ({ name, sql }, { parts }) => {
    const { writeMigration } = await parts.consoleTools()
    const path = await writeMigration({ name, sql }).catch((error: unknown) => {
      throw isFileError(error)
        ? new Failure(422, 'The folder of migrations cannot be written', { cause: error })
        : error
    })
    return { heading: 'The file was written.', data: JSON.stringify({ path }), own: { written: true } }
  },
})

const isFileError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(?:EACCES|EPERM|EROFS|ENOSPC|ENOTDIR|EEXIST)$/.test(String(error.code))
