// The files of the README for Kubernetes: checked against its schemas, then run as processes.
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { freePort } from '../../support/free-port.ts'
import { nodeOptions } from '../../support/node-options.ts'
import { main } from '../../support/program.ts'
import { readmeSection } from '../../support/readme-section.ts'
import { plainEnvironment, root, run, startServing, type Installation, type Started } from './installation.ts'

type Container = {
  readonly command?: readonly string[]
  readonly securityContext: unknown
  readonly resources: unknown
  readonly envFrom?: readonly { readonly configMapRef?: { name: string }; readonly secretRef?: { name: string } }[]
  readonly env?: readonly { name: string; valueFrom: { secretKeyRef: { name: string; key: string } } }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
} & Readonly<Record<'startupProbe' | 'livenessProbe' | 'readinessProbe', { httpGet: { path: string; port: string } }>>

type PodSpec = { readonly securityContext: unknown; readonly containers: readonly [Container] }

type Resource = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
  readonly spec?: { readonly template: { readonly spec: PodSpec }; readonly replicas?: number }
}

const sections = ['kubernetes-secret', 'kubernetes-migrate', 'kubernetes']

/** https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted */
const restricted = JSON.stringify([
  { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
])

export async function checkKubernetes(installation: Installation): Promise<void> {
  const resources = sections.flatMap((name) =>
    parseAllDocuments(readmeSection(name)).map((document) => document.toJS() as Resource),
  )
  await checkSchemas(installation, resources)
  const { check } = installation
  for (const { kind, spec } of resources) {
    if (spec === undefined || !('template' in spec)) continue
    const { securityContext, containers } = spec.template.spec
    const given = JSON.stringify([securityContext, containers[0].securityContext])
    check(given === restricted, `${kind}: complies with the pod security standard restricted`)
  }
  await runPods(installation, resources)
}

/** Values are checked by the schemas, names of fields by the types that are generated from them. */
async function checkSchemas({ folder, check }: Installation, resources: readonly Resource[]): Promise<void> {
  const place = join(folder, 'schemas')
  await mkdir(place)
  await writeFile(join(place, 'package.json'), '{ "private": true, "type": "module" }\n')
  const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', ...options, 'kubernetes-models@4'], { cwd: place })
  const require = createRequire(join(place, 'package.json'))
  const lines: string[] = []
  for (const [index, resource] of resources.entries()) {
    const { apiVersion, kind, metadata, ...rest } = resource
    const path = `kubernetes-models/${apiVersion}`
    const models = require(path) as Readonly<Record<string, new (value: unknown) => { validate: () => void }>>
    const Model = models[kind]
    let fault = Model ? '' : 'unknown'
    try {
      if (Model) new Model({ metadata, ...rest }).validate()
    } catch (error) {
      fault = String(error)
    }
    check(fault === '', `${apiVersion} ${kind} ${metadata.name}: valid ${fault}`)
    lines.push(
      `import { ${kind} as Kind${index} } from '${path}'`,
      `new Kind${index}(${JSON.stringify({ metadata, ...rest })})`,
    )
  }
  await writeFile(join(place, 'resources.ts'), lines.join('\n'))
  // A field that does not exist must not pass.
  await writeFile(
    join(place, 'wrong.ts'),
    `import { Service } from 'kubernetes-models/v1'\nnew Service({ spec: { selectors: { app: 'x' } } })`,
  )
  const compile = async (file: string): Promise<string> => {
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', file]
    return run(process.execPath, [compiler, ...flags], { cwd: place }).then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    )
  }
  const faults = await compile('resources.ts')
  check(faults === '', `all fields exist ${faults}`)
  check((await compile('wrong.ts')).includes('selectors'), 'a field that does not exist is noticed')
}

/** Runs the job, then as many processes as there are replicas, with the environments and probes of the files. */
async function runPods(installation: Installation, resources: readonly Resource[]): Promise<void> {
  const { check } = installation
  const database = await installation.database()
  const values = (name: string, kind: string): Readonly<Record<string, string>> => {
    const found = resources.find((it) => it.kind === kind && it.metadata.name === name)
    if (!found) throw new Error(`there is no ${kind} ${name}`)
    // The names of the database's and the bucket's servers are examples.
    const own = Object.entries(database).filter(([key]) => key in (found.stringData ?? {}))
    return { ...found.data, ...found.stringData, ...Object.fromEntries(own) }
  }
  const podOf = (kind: string): Container => {
    const container = resources.find((it) => it.kind === kind)?.spec?.template.spec.containers[0]
    if (!container) throw new Error(`there is no ${kind}`)
    return container
  }
  const job = podOf('Job')
  const env = Object.fromEntries(
    (job.env ?? []).map(({ name, valueFrom: { secretKeyRef } }) => [
      name,
      values(secretKeyRef.name, 'Secret')[secretKeyRef.key],
    ]),
  )
  const [, ...args] = job.command ?? []
  const migrated = await run(process.execPath, args, { cwd: root, env: { ...plainEnvironment, ...env } })
  check(migrated.stdout.includes('000001'), 'the job migrates')

  const pod = podOf('Deployment')
  const variables = Object.assign(
    {},
    ...(pod.envFrom ?? []).map(({ configMapRef, secretRef }) => ({
      ...(configMapRef && values(configMapRef.name, 'ConfigMap')),
      ...(secretRef && values(secretRef.name, 'Secret')),
    })),
  ) as Readonly<Record<string, string>>
  const admin = pod.ports.find(({ name }) => name === 'admin')
  check(variables.PGRST_ADMIN_SERVER_PORT === String(admin?.containerPort), 'the probes have the port that is set')
  const { replicas = 0 } = resources.find(({ kind }) => kind === 'Deployment')?.spec ?? {}
  const pods: { readonly started: Started; readonly probe: (path: string) => Promise<number> }[] = []
  for (let index = 0; index < replicas; index++) {
    const ports = { PORT: String(await freePort()), PGRST_ADMIN_SERVER_PORT: String(await freePort()) }
    const at = (path: string): string => `http://127.0.0.1:${ports.PGRST_ADMIN_SERVER_PORT}${path}`
    const probe = (path: string): Promise<number> =>
      fetch(at(path)).then(
        ({ status }) => status,
        () => 0,
      )
    const command = [process.execPath, ...nodeOptions, main, 'serve']
    const options = {
      env: { ...plainEnvironment, ...variables, ...ports, HOST: '127.0.0.1' },
      url: at(pod.startupProbe.httpGet.path),
    }
    pods.push({ started: await startServing(installation, command, options), probe })
  }
  check(pods.length === 3, `${pods.length} processes pass the startup probe`)
  const { livenessProbe, readinessProbe } = pod
  const probes = [livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)
  const statuses = await Promise.all(pods.flatMap(({ probe }) => probes.map(probe)))
  check(
    statuses.every((status) => status === 200),
    `the other probes respond with ${statuses.join()}`,
  )
  const ends = await Promise.all(pods.map(({ started }) => started.stop()))
  check(
    ends.every(({ code, took }) => code === 0 && took < 25_000),
    `they end with ${ends.map(({ code }) => code).join()}, at the latest after ${Math.round(Math.max(...ends.map(({ took }) => took)))} ms`,
  )
}
