// Runs: results of the image analysis, with their boxes, over time and side by side.
import { useRef, useState } from 'preact/hooks'
import type { Viewer } from '../../api.ts'
import { Confirm, useAction } from '../../forms.tsx'
import { Badge, Button, Dialog, Empty, Loading, Problem, useLoaded } from '../../parts.tsx'
import { ReadProblem, LookAsServiceRole } from '../../read-problem.tsx'
import { restPathOf } from '../../rest/relation.ts'
import { go, href, useRoute } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { Time, toggled } from '../../values.tsx'
import { useViewer, viewerLabel } from '../../viewer.tsx'
import { BoxedImage } from './boxed-image.tsx'
import { CoverageChart } from './coverage-chart.tsx'
import { analyse, boxesOf, coverageOf, deleteRun, listRuns, pageSize, riskKind, type Rest, type Run } from './runs.ts'

export default function Runs() {
  const { restPath } = useSession()
  const { viewer } = useViewer()
  const { query } = useRoute()
  const [at, id] = [query.get('before'), query.get('id')]
  const after = at === null || id === null ? undefined : { created_at: at, id }
  const rest = (resource: string): string => restPathOf(restPath, resource)
  const { value, error, reload } = useLoaded(() => listRuns(viewer, rest, after), [viewer, at, id])
  return (
    <div class="runs">
      <div class="bar">
        <h1>Runs</h1>
        <span class="grow" />
        <AnalyseButton viewer={viewer} onDone={reload} />
      </div>
      <ReadProblem error={error} hint="Users see their own runs, service_role sees all." />
      {value ? (
        <RunList runs={value} viewer={viewer} rest={rest} onChanged={reload} />
      ) : (
        error === undefined && <Loading />
      )}
      {(after !== undefined || value?.length === pageSize) && (
        <nav class="bar" aria-label="Pages of runs">
          <Button isDisabled={after === undefined} onClick={() => go(['runs'])}>
            Newest
          </Button>
          <Button
            isDisabled={value?.length !== pageSize}
            onClick={() => {
              const last = value?.at(-1)
              if (last) go(['runs'], { before: last.created_at, id: last.id })
            }}
          >
            Older
          </Button>
        </nav>
      )}
    </div>
  )
}

/** Sends an image as a client would, as the chosen user. */
function AnalyseButton({ viewer, onDone }: { readonly viewer: Viewer; readonly onDone: () => void }) {
  const { analysisPath, services } = useSession()
  const input = useRef<HTMLInputElement>(null)
  const [isKept, setKept] = useState(false)
  const { error, isBusy, run } = useAction()
  if (analysisPath === null) return null
  if (viewer.kind !== 'user') return <span class="faint small">Runs belong to users: look as one to add a run.</span>
  const send = (files: FileList | null): void => {
    const [file] = files ?? []
    if (file) run(() => analyse(viewer, analysisPath, file, isKept).then(onDone))
  }
  return (
    <>
      {services.includes('storage') && (
        <label>
          <input type="checkbox" checked={isKept} onChange={({ currentTarget }) => setKept(currentTarget.checked)} />{' '}
          Keep the image
        </label>
      )}
      <Button kind="primary" isBusy={isBusy} onClick={() => input.current?.click()}>
        Analyse an image
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        accept="image/jpeg,image/png,image/webp"
        aria-label="Image to analyse"
        onChange={({ currentTarget }) => {
          send(currentTarget.files)
          currentTarget.value = ''
        }}
      />
      {error !== undefined && (
        <div class="full">
          <Problem error={error} />
          {isKept && (
            <p class="faint">
              Kept images are files in a folder with the id of the user: a bucket for them needs the policies “Own
              folder” of <a href={href(['files'])}>Files</a>.
            </p>
          )}
        </div>
      )}
    </>
  )
}

type ListProps = {
  readonly runs: readonly Run[]
  readonly viewer: Viewer
  readonly rest: Rest
  readonly onChanged: () => void
}

type Opened =
  | { readonly kind: 'show' | 'delete'; readonly run: Run }
  | { readonly kind: 'compare'; readonly runs: readonly Run[] }
  | undefined

function RunList({ runs, viewer, rest, onChanged }: ListProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [opened, open] = useState<Opened>()
  const selected = runs.filter(({ id }) => chosen.has(id))
  const close = (): void => open(undefined)
  if (runs.length === 0) {
    return (
      <Empty title={`${viewerLabel(viewer)} sees no runs`}>
        <p>Users see their own runs. Look as a user and analyse an image, or send one from your app.</p>
        <LookAsServiceRole />
      </Empty>
    )
  }
  return (
    <>
      <CoverageChart runs={runs} />
      <div class="bar" role="status">
        <Button isDisabled={selected.length < 2} onClick={() => open({ kind: 'compare', runs: selected })}>
          {selected.length < 2 ? 'Choose runs to compare' : `Compare ${selected.length} runs`}
        </Button>
        {selected.length > 0 && <Button onClick={() => setChosen(new Set())}>Choose none</Button>}
      </div>
      <ul class="run-cards">
        {runs.map((run) => (
          <li key={run.id} class="card">
            <button type="button" class="picture" onClick={() => open({ kind: 'show', run })}>
              <BoxedImage run={run} viewer={viewer} />
            </button>
            <Summary run={run} />
            <label class="small">
              <input
                type="checkbox"
                checked={chosen.has(run.id)}
                onChange={() => setChosen((before) => toggled(before, run.id))}
              />{' '}
              Compare
            </label>
          </li>
        ))}
      </ul>
      {opened?.kind === 'show' && (
        <RunDialog
          run={opened.run}
          viewer={viewer}
          onClose={close}
          onDelete={() => open({ kind: 'delete', run: opened.run })}
        />
      )}
      {opened?.kind === 'compare' && <CompareDialog runs={opened.runs} viewer={viewer} onClose={close} />}
      {opened?.kind === 'delete' && (
        <Confirm
          title="Delete this run?"
          action="Delete"
          onConfirm={() => deleteRun(viewer, rest, opened.run.id).then(onChanged)}
          onClose={close}
        >
          <p>The image stays, if it was kept. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  )
}

function Summary({ run }: { readonly run: Run }) {
  const coverage = coverageOf(run)
  const risk = run.analysis?.risk_level
  return (
    <p class="summary">
      <strong>{run.result_label}</strong> <span class="faint">{run.confidence} %</span>
      <br />
      {coverage !== undefined && <span>{coverage} % covered </span>}
      {typeof risk === 'string' && <Badge kind={riskKind(risk)}>{risk.toLowerCase()}</Badge>}
      <br />
      <small class="faint">
        <Time at={run.created_at} />
      </small>
    </p>
  )
}

type RunProps = {
  readonly run: Run
  readonly viewer: Viewer
  readonly onClose: () => void
  readonly onDelete: () => void
}

function RunDialog({ run, viewer, onClose, onDelete }: RunProps) {
  const { analysis } = run
  const facts: readonly (readonly [string, string | undefined | null])[] = [
    ['Result', `${run.result_label}, ${run.confidence} %`],
    ['Risk', analysis?.risk_level],
    ['Coverage', coverageOf(run) === undefined ? undefined : `${coverageOf(run) ?? 0} %`],
    ['Regions', String(boxesOf(run).length)],
    ['Recommendation', run.recommendation],
    ['Model', run.model_version],
    ['Method', analysis?.method],
    ['Source', run.image_source],
    ['Image', run.image_uri],
    ['Run', run.id],
  ]
  return (
    <Dialog title={run.result_label} onClose={onClose} isWide>
      <BoxedImage run={run} viewer={viewer} isLarge />
      <dl class="facts">
        {facts
          .filter(([, text]) => text !== undefined && text !== null)
          .map(([name, text]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
      </dl>
      <div class="actions">
        <Button kind="danger" onClick={onDelete}>
          Delete
        </Button>
      </div>
    </Dialog>
  )
}

type CompareProps = { readonly runs: readonly Run[]; readonly viewer: Viewer; readonly onClose: () => void }

/** From the oldest to the newest, with what changed from each to the next. */
function CompareDialog({ runs, viewer, onClose }: CompareProps) {
  const sorted = [...runs].sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at))
  return (
    <Dialog title={`${runs.length} runs over time`} onClose={onClose} isWide>
      <div class="compared">
        {sorted.map((run, index) => {
          const before = sorted[index - 1]
          return (
            <section key={run.id}>
              <BoxedImage run={run} viewer={viewer} isLarge />
              <Summary run={run} />
              {before && <Change from={coverageOf(before)} to={coverageOf(run)} />}
            </section>
          )
        })}
      </div>
    </Dialog>
  )
}

function Change({ from, to }: { readonly from: number | undefined; readonly to: number | undefined }) {
  if (from === undefined || to === undefined) return null
  const difference = Math.round((to - from) * 10) / 10
  return (
    <p>
      <Badge kind={difference > 0 ? 'bad' : 'good'}>
        {difference > 0 ? '+' : ''}
        {difference} points of coverage
      </Badge>
    </p>
  )
}
