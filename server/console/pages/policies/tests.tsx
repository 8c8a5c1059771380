// The policy tests of the project: what they say, whether they pass, and which weaker rules they do not notice.
import { useEffect, useState } from 'preact/hooks'
import type { CheckReport, PolicyTestRun, PolicyTests, RunRequest } from '../../../services/console/policy-protocol.ts'
import { consoleApi } from '../../api.ts'
import { PolicyTestDialog } from '../../explanation/policy-test-dialog.tsx'
import { Badge, Button, Empty, Loading, Problem, useLoaded } from '../../parts.tsx'
import { href, useRoute } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { useViewer } from '../../viewer.tsx'
import { Mutants } from './mutants.tsx'

/** Milliseconds between two questions about a run. */
const interval = 700

const kinds: readonly (readonly [kind: RunRequest['kind'], title: string, what: string])[] = [
  ['tests', 'Run', 'Runs all tests on a database that is thrown away.'],
  ['mutants', 'Find what they miss', 'Weakens one rule at a time: each must make a test fail.'],
  ['coverage', 'Coverage', 'Finds policies, privileges and checks that no test depends on.'],
  [
    'record',
    'Record who can do what',
    'Writes policy-tests/matrix.yaml: every role and account, every table, every command.',
  ],
]

export function Tests({ report }: { readonly report: CheckReport | undefined }) {
  const { isDevelopment, restPath } = useSession()
  const { viewer } = useViewer()
  const { value: tests, error, reload } = useLoaded((signal) => consoleApi<PolicyTests>('policy-tests', { signal }), [])
  const { run, problem, start, cancel } = useTestRun(tests?.run ?? undefined, reload)
  const [isWriting, setWriting] = useState(false)
  const { query } = useRoute()
  // The link after a test was written.
  const wanted = kinds.find(([kind]) => kind === query.get('run'))?.[0]
  useEffect(() => {
    if (wanted && isDevelopment) start(wanted)
  }, [wanted])
  if (!tests) return <>{error === undefined ? <Loading /> : <Problem error={error} />}</>
  const isRunning = run?.state === 'running'
  const hasTests = tests.files.length > 0
  return (
    <>
      {!isDevelopment && (
        <p class="faint">
          Policy tests run during development, on a database that is thrown away, and in CI with{' '}
          <code>rowhouse test</code>.
        </p>
      )}
      {tests.error !== null && <Problem error={tests.error} />}
      {isDevelopment && (
        <div class="bar">
          {kinds
            .filter(([kind]) => hasTests || kind === 'record')
            .map(([kind, title, what], index) => (
              <Button
                key={kind}
                kind={index === 0 ? 'primary' : 'plain'}
                title={what}
                isDisabled={isRunning}
                onClick={() => start(kind)}
              >
                {title}
              </Button>
            ))}
          {isRunning && <Button onClick={cancel}>Cancel</Button>}
          <span class="spring" />
          <Button onClick={() => setWriting(true)}>Write a test</Button>
        </div>
      )}
      <Problem error={problem} />
      {run && <RunResult run={run} report={report} />}
      {hasTests ? <Files tests={tests} /> : tests.error === null && !run && <NoTests />}
      {isWriting && (
        <PolicyTestDialog
          viewer={viewer}
          request={{ request: `GET ${restPath === '/' ? '' : restPath}/` }}
          onClose={() => {
            setWriting(false)
            reload()
          }}
        />
      )}
    </>
  )
}

const NoTests = () => (
  <Empty title="There are no policy tests">
    <p>
      Record who can do what with which rows, and review it: from then on, every change of a policy that changes this is
      noticed. Or <a href={href(['explain'])}>explain a request</a>, and make it a test.
    </p>
  </Empty>
)

type TestRunner = {
  readonly run: PolicyTestRun | undefined
  readonly problem: unknown
  readonly start: (kind: RunRequest['kind']) => void
  readonly cancel: () => void
}

/** Follows the run of the server. Runs without questions are cancelled there. */
function useTestRun(known: PolicyTestRun | undefined, onEnd: () => void): TestRunner {
  const [latest, setRun] = useState<PolicyTestRun>()
  const [problem, setProblem] = useState<unknown>()
  const run = latest ?? known
  const isRunning = run?.state === 'running'
  useEffect(() => {
    if (!isRunning) return undefined
    const ending = new AbortController()
    const timer = setInterval(() => {
      consoleApi<PolicyTestRun>('policy-tests/run', { signal: ending.signal }).then(
        (next) => {
          setRun(next)
          if (next.state !== 'running') onEnd()
        },
        (error: unknown) => ending.signal.aborted || setProblem(error),
      )
    }, interval)
    return () => {
      clearInterval(timer)
      ending.abort()
    }
  }, [isRunning])
  return {
    run,
    problem,
    start: (kind) => {
      setProblem(undefined)
      consoleApi<PolicyTestRun>('policy-tests/run', { method: 'POST', body: { kind } }).then(setRun, setProblem)
    },
    cancel: () => void consoleApi('policy-tests/run', { method: 'DELETE' }).catch(setProblem),
  }
}

type RunResultProps = { readonly run: PolicyTestRun; readonly report: CheckReport | undefined }

const stateBadges = { running: 'plain', done: 'good', failed: 'bad', cancelled: 'warning' } as const

function RunResult({ run, report }: RunResultProps) {
  const { state, stage, error, tests, mutants, comments, recorded, kind } = run
  const failed = tests.filter(({ problem }) => problem !== null)
  return (
    <section class="card" aria-label="The run" aria-live="polite">
      <h2>
        <Badge kind={failed.length > 0 ? 'bad' : stateBadges[state]}>{failed.length > 0 ? 'tests fail' : state}</Badge>{' '}
        {tests.length > 0 && `${tests.length - failed.length} of ${tests.length} tests pass`}
      </h2>
      {state === 'running' && <Loading text={stage} />}
      {error !== null && <Problem error={error} />}
      {recorded && (
        <>
          <p>
            {recorded.isNew ? 'Wrote' : recorded.changes.length === 0 ? 'Unchanged:' : 'Changed'}{' '}
            <code>{recorded.path}</code>. Review it: what it says is what the tests expect.
          </p>
          {!recorded.isNew && recorded.changes.length > 0 && <pre class="changes">{recorded.changes.join('\n')}</pre>}
        </>
      )}
      {failed.map(({ name, file, line, problem }) => (
        <div key={name} class="problem">
          <p>
            <strong>{name}</strong>{' '}
            <span class="faint small">
              {file}:{line}
            </span>
          </p>
          <pre>{problemText(problem)}</pre>
        </div>
      ))}
      {(kind === 'mutants' || kind === 'coverage') && mutants.length > 0 && (
        <Mutants kind={kind} mutants={mutants} report={report} />
      )}
      {comments.map((comment) => (
        <p key={comment} class="faint small">
          {comment}
        </p>
      ))}
    </section>
  )
}

function problemText(problem: Readonly<Record<string, unknown>> | null): string {
  const { message, difference, expected, actual } = problem ?? {}
  const lines = Array.isArray(difference)
    ? difference.map(String)
    : [`expected ${JSON.stringify(expected)}`, `actual   ${JSON.stringify(actual)}`]
  return [String(message), ...lines].join('\n')
}

const Files = ({ tests: { folder, files } }: { readonly tests: PolicyTests }) => (
  <>
    <h2>
      Tests in <code>{folder}</code>
    </h2>
    {files.map(({ path, tests, cells, accepted }) => (
      <details key={path} class="file" open={tests.length > 0 && tests.length < 30}>
        <summary>
          <code>{path}</code>{' '}
          <span class="faint">
            {tests.length > 0 && `${tests.length} ${tests.length === 1 ? 'test' : 'tests'}`}
            {cells > 0 && ` ${cells} cells of the matrix`}
          </span>
        </summary>
        <ul>
          {tests.map(({ name, line, request }, index) => (
            <li key={index}>
              {name}{' '}
              <span class="faint small">
                line {line}: <code>{request}</code>
              </span>
            </li>
          ))}
          {accepted.map(({ mutant, reason }) => (
            <li key={mutant}>
              <Badge>accepted</Badge> {mutant}: {reason}
            </li>
          ))}
        </ul>
      </details>
    ))}
  </>
)
