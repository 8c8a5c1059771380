// What `rowhouse doctor` does and prints.
import type { Config } from '../../config/config.ts'
import type { Environment } from '../../config/config-sources.ts'
import { connectionConfig } from '../../postgres/connection/pool-config.ts'
import { runDoctor, type DoctorOptions, type DoctorResult } from '../doctor/run-doctor.ts'
import { areas, type Area, type DoctorFinding } from '../doctor/finding.ts'
import { levels } from '../findings.ts'
import type { Dependencies } from './dependencies.ts'
import { printable, wrap } from './text-table.ts'

export type DoctorCommandOptions = {
  readonly json?: true
  readonly config?: string
  readonly url?: URL
  readonly processes: number
}

type Examined = {
  readonly config: Config
  readonly url: URL | undefined
  readonly processes: number
  readonly env: Environment
  readonly slowPolicies?: DoctorOptions['slowPolicies']
}

/** Looks at an installation, on connections as the serving role and as the owner. */
export const examine = (
  { config, url, processes, env, slowPolicies }: Examined,
  { withAddress, connectTo }: Pick<Dependencies, 'withAddress' | 'connectTo'>,
): Promise<DoctorResult> =>
  withAddress(config, { role: 'authenticator', creates: false }, (serving) =>
    withAddress(config, { role: 'owner', creates: false }, (owning) =>
      connectTo(serving, (first) =>
        connectTo(serving, (second) =>
          connectTo(owning, (owner) =>
            runDoctor({
              config,
              isEmbedded: serving.isEmbedded,
              processes,
              url,
              owner,
              node: process.versions.node,
              now: new Date(),
              serving: [first, second],
              slowPolicies,
              log: config.realtimeDatabaseUrl === null ? undefined : connectionConfig(config.realtimeDatabaseUrl, env),
            }),
          ),
        ),
      ),
    ),
  )

/** @returns whether there is an error or a warning */
export async function reportDoctor(
  { json, config: file, url, processes }: DoctorCommandOptions,
  dependencies: Dependencies,
): Promise<boolean> {
  const { withDatabaseSettings, print } = dependencies
  const config = await withDatabaseSettings(file)
  const result = await examine({ config, url, processes, env: process.env }, dependencies)
  print(json ? `${JSON.stringify(result)}\n` : `${asText(result).join('\n')}\n`)
  return result.findings.some(({ level }) => level !== 'INFO')
}

const width = 120
const indent = '    '

function block({ level, code, subject, what, why, advice, fix }: DoctorFinding): string[] {
  const paragraphs = [`${what} ${why}`, advice].flatMap((text) => wrap(printable(text), width - indent.length))
  return [
    '',
    `${level} ${code}  ${printable(subject)}`,
    ...paragraphs.map((line) => indent + line),
    // Not wrapped, so that the statements can be copied.
    ...(fix?.split('\n').map((line) => `${indent}> ${printable(line)}`) ?? []),
  ]
}

const words = { ERROR: ['error', 'errors'], WARN: ['warning', 'warnings'], INFO: ['note', 'notes'] } as const

/** Areas of which nothing must be done. */
export function healthyAreas({ findings, skipped }: DoctorResult): readonly Area[] {
  const troubled = new Set(findings.map(({ area }) => area))
  return areas.filter((area) => !troubled.has(area) && !skipped.some((it) => it.area === area))
}

function asText({ findings, skipped }: DoctorResult): string[] {
  const counts = levels
    .map((level) => ({ level, count: findings.filter((it) => it.level === level).length }))
    .filter(({ count }) => count > 0)
    .reverse()
    .map(({ level, count }) => `${count} ${words[level][count === 1 ? 0 : 1]}`)
  const healthy = healthyAreas({ findings, skipped })
  return [
    ...(healthy.length > 0 ? [`Nothing to do about ${healthy.join(', ')}.`] : []),
    ...skipped.map(({ reason }) => `Not looked at: ${reason}.`),
    ...findings.flatMap(block),
    ...(counts.length > 0 ? ['', `Found ${counts.join(', ')}.`] : []),
  ]
}
