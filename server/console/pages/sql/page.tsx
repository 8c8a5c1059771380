// Runs SQL as the viewer: rolled back, unless committing is chosen.
import type { SQLNamespace } from '@codemirror/lang-sql'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ConsoleSchema } from '../../../services/console/schema-protocol.ts'
import type { SqlCaller, SqlRequest, SqlRun } from '../../../services/console/sql-protocol.ts'
import { consoleApi, type Viewer } from '../../api.ts'
import { callerOf } from '../../explanation/asked-request.ts'
import { MigrationDialog } from '../../migration-dialog.tsx'
import { Button, Empty, Problem, useLoaded } from '../../parts.tsx'
import { useRoute } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { useViewer, viewerLabel } from '../../viewer.tsx'
import { HistoryDialog } from './history-dialog.tsx'
import { SqlEditor, type EditorHandle } from './editor.tsx'
import { rememberRun } from './history.ts'
import { Results } from './results.tsx'

const draftKey = 'rowhouse.console.sql.draft'
const example = 'select * from '

type Mode = 'run' | 'plan' | 'analyze'
type Opened = 'history' | 'migration'

/** Seconds. */
const timeouts = [10, 30, 120] as const

export default function SqlPage() {
  const linked = useRoute().query.get('sql')
  const { isDevelopment } = useSession()
  const { viewer } = useViewer()
  const [text, setText] = useState(() => linked ?? sessionStorage.getItem(draftKey) ?? example)
  const [isOwner, setOwner] = useState(false)
  const [commits, setCommits] = useState(false)
  const [timeout, setTimeoutSeconds] = useState<number>(timeouts[0])
  const [opened, setOpened] = useState<Opened>()
  const editor = useRef<EditorHandle>(null)
  const { value: schema } = useLoaded((signal) => consoleApi<ConsoleSchema>('schema', { signal }), [])
  const names = useMemo(() => namesOf(schema), [schema])
  const { run, isRunning, error, offset, start, cancel } = useRun()
  useEffect(() => {
    if (linked !== null) editor.current?.replace(linked)
  }, [linked])
  const caller: SqlCaller = isOwner ? { owner: true } : callerOf(viewer)
  const execute = (mode: Mode): void => {
    const chosen = editor.current?.chosen() ?? { text, offset: 0 }
    rememberRun(chosen.text, isOwner ? 'the owner' : viewerLabel(viewer))
    start(requestOf(chosen.text, caller, { mode, commits, timeout }), chosen.offset)
    // Chosen for one run: the next one is rolled back again.
    if (mode === 'run') setCommits(false)
  }
  return (
    <div class="sql">
      <h1>SQL</h1>
      <div class="bar">
        <Button
          kind={commits ? 'danger' : 'primary'}
          isBusy={isRunning}
          onClick={() => execute('run')}
          title="Ctrl+Enter"
        >
          {commits ? 'Run and commit' : 'Run'}
        </Button>
        {isRunning && <Button onClick={cancel}>Cancel</Button>}
        <Button isDisabled={isRunning} onClick={() => execute('plan')} title="EXPLAIN">
          Plan
        </Button>
        <Button isDisabled={isRunning} onClick={() => execute('analyze')} title="EXPLAIN ANALYZE">
          Plan with times
        </Button>
        <label class="check">
          <input
            type="checkbox"
            checked={commits}
            onChange={({ currentTarget }) => setCommits(currentTarget.checked)}
          />{' '}
          commit
        </label>
        {isDevelopment && (
          <label class="check">
            <input
              type="checkbox"
              checked={isOwner}
              onChange={({ currentTarget }) => setOwner(currentTarget.checked)}
            />{' '}
            as the owner
          </label>
        )}
        <label class="check">
          <span class="faint">at most</span>{' '}
          <select
            aria-label="Time limit"
            value={timeout}
            onChange={({ currentTarget }) => setTimeoutSeconds(Number(currentTarget.value))}
          >
            {timeouts.map((seconds) => (
              <option key={seconds} value={seconds}>
                {seconds} s
              </option>
            ))}
          </select>
        </label>
        <span class="spring" />
        <Button onClick={() => setOpened('history')}>History</Button>
        {isDevelopment && (
          <Button isDisabled={text.trim() === ''} onClick={() => setOpened('migration')}>
            Save as migration
          </Button>
        )}
      </div>
      <SqlEditor
        initial={text}
        schema={names}
        defaultSchema={schema?.exposed[0] ?? 'public'}
        onReady={(ready) => (editor.current = ready)}
        onChange={(changed) => {
          setText(changed)
          sessionStorage.setItem(draftKey, changed)
        }}
        onRun={() => execute('run')}
      />
      <p class="faint small">
        {isOwner ? 'As the owner of the database, which no policy restricts' : `As ${viewerLabel(viewer)}`}.{' '}
        {commits ? 'Changes are kept.' : 'Everything is rolled back; numbers of sequences remain drawn.'} Ctrl+Enter
        runs the selection, or all of it.
      </p>
      <Problem error={error} />
      {run ? (
        <Results run={run} onShow={(position) => editor.current?.show(position + offset)} />
      ) : (
        !isRunning &&
        error === undefined && <FirstSteps viewer={viewer} onChoose={(sql) => editor.current?.replace(sql)} />
      )}
      {opened === 'history' && (
        <HistoryDialog
          onClose={() => setOpened(undefined)}
          onChoose={(sql) => {
            editor.current?.replace(sql)
            setOpened(undefined)
          }}
        />
      )}
      {opened === 'migration' && <MigrationDialog sql={text} onClose={() => setOpened(undefined)} />}
    </div>
  )
}

type Options = { readonly mode: Mode; readonly commits: boolean; readonly timeout: number }

const requestOf = (sql: string, caller: SqlCaller, { mode, commits, timeout }: Options): SqlRequest => ({
  sql,
  caller,
  timeout: timeout * 1000,
  // A plan is looked at: it never changes rows.
  ...(mode === 'run' ? { commit: commits } : { explain: mode }),
})

type RunState = {
  readonly run: SqlRun | undefined
  readonly isRunning: boolean
  readonly error: unknown
  /** Where the text of the run begins in the editor. */
  readonly offset: number
}

type Runner = RunState & {
  readonly start: (request: SqlRequest, offset: number) => void
  readonly cancel: () => void
}

function useRun(): Runner {
  const [state, setState] = useState<RunState>({ run: undefined, isRunning: false, error: undefined, offset: 0 })
  const ending = useRef<AbortController>(null)
  return {
    ...state,
    start: (body, offset) => {
      if (state.isRunning) return
      const controller = new AbortController()
      ending.current = controller
      setState({ run: undefined, isRunning: true, error: undefined, offset })
      consoleApi<SqlRun>('sql', { method: 'POST', body, signal: controller.signal }).then(
        (run) => setState({ run, isRunning: false, error: undefined, offset }),
        (error: unknown) => setState({ run: undefined, isRunning: false, error, offset }),
      )
    },
    cancel: () => ending.current?.abort(new Error('The run was cancelled. Nothing of its transaction remains.')),
  }
}

/** Tables and their columns, for completion. */
const namesOf = (schema: ConsoleSchema | undefined): SQLNamespace =>
  Object.fromEntries(
    (schema?.schemas ?? []).map((name) => [
      name,
      Object.fromEntries(
        (schema?.relations ?? [])
          .filter((relation) => relation.schema === name)
          .map((relation) => [relation.name, relation.columns.map(([column]) => column)]),
      ),
    ]),
  )

const suggestions = [
  ['Who am I?', "select current_user, auth.uid(), current_setting('request.jwt.claims', true)"],
  [
    'Largest tables',
    'select relid::regclass as table, n_live_tup as rows, pg_size_pretty(pg_total_relation_size(relid)) as size\nfrom pg_stat_user_tables order by pg_total_relation_size(relid) desc limit 20',
  ],
  [
    'A table with a policy',
    'create table notes (\n  id bigint generated always as identity primary key,\n  owner uuid not null default auth.uid() references auth.users (id) on delete cascade,\n  text text not null\n);\nalter table notes enable row level security;\ncreate policy own_notes on notes to authenticated using (owner = (select auth.uid()));\ngrant select, insert, update, delete on notes to authenticated;',
  ],
] as const

type FirstStepsProps = { readonly viewer: Viewer; readonly onChoose: (sql: string) => void }

const FirstSteps = ({ viewer, onChoose }: FirstStepsProps) => (
  <Empty title={`See what ${viewerLabel(viewer)} sees`}>
    <p>Statements run as the caller in the header, in one transaction that is rolled back unless you choose commit.</p>
    <p class="bar centred">
      {suggestions.map(([title, sql]) => (
        <Button key={title} onClick={() => onChoose(sql)}>
          {title}
        </Button>
      ))}
    </p>
  </Empty>
)
