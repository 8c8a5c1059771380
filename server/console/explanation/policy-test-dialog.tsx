// Writes a request and what is expected of it into the policy tests of the project.
import { useState } from 'preact/hooks'
import type { NewPolicyTest, ShownExplanation, TestCaller } from '../../services/console/policy-protocol.ts'
import { consoleApi, type Viewer } from '../api.ts'
import { useAction } from '../forms.tsx'
import { Button, Dialog, Field, Problem, TextField } from '../parts.tsx'
import { href } from '../router.ts'
import { viewerLabel } from '../viewer.tsx'
import { callerOf, type AskedRequest } from './asked-request.ts'

type PolicyTestProps = {
  readonly request: AskedRequest
  readonly viewer: Viewer
  /** What the request gets now; asked for when it is missing. */
  readonly explanation?: ShownExplanation
  /** What the test expects at first; by default what the request gets now. */
  readonly expected?: Expected
  readonly onClose: () => void
}

/** What a test expects of its response. */
export type Expected = Pick<NewPolicyTest, 'status' | 'rows' | 'error'>

/** What a request gets, as a test expects it. */
function expectationOf({ response, rows }: ShownExplanation): Expected {
  if (!response) return {}
  if (response.status < 400) return rows.after === null ? { status: response.status } : { rows: rows.after }
  const code: unknown = (response.error as Readonly<Record<string, unknown>> | null)?.code
  return { status: response.status, ...(typeof code === 'string' ? { error: code } : {}) }
}

export function PolicyTestDialog({ request: asked, viewer, explanation, expected: first, onClose }: PolicyTestProps) {
  const [request, setRequest] = useState(asked.request)
  const [name, setName] = useState('')
  const [byClaims, setByClaims] = useState(false)
  const [expected, setExpected] = useState<Expected>(first ?? (explanation ? expectationOf(explanation) : {}))
  const { error, isBusy, run } = useAction()
  const [path, setPath] = useState<string>()
  const ask = (): Promise<ShownExplanation> =>
    consoleApi<ShownExplanation>('explain', { method: 'POST', body: { ...asked, request, caller: callerOf(viewer) } })
  const save = async (): Promise<void> => {
    const claims = byClaims ? (explanation ?? (await ask())).request.claims : undefined
    const test: NewPolicyTest = {
      name: name.trim() === '' ? `${viewerLabel(viewer)}: ${request}` : name.trim(),
      as: testCaller(viewer, claims),
      request,
      ...headersOf(asked.headers),
      ...(asked.body === undefined ? {} : { body: parsed(asked.body) }),
      ...expected,
    }
    setPath((await consoleApi<{ path: string }>('policy-tests', { method: 'POST', body: test })).path)
  }
  if (path !== undefined) {
    return (
      <Dialog title="The test is written" onClose={onClose}>
        <p>
          It is in <code>{path}</code>, and runs with <code>rowhouse test</code>.
        </p>
        <div class="actions">
          <a class="button primary" href={href(['policies', 'tests'], { run: 'tests' })} onClick={onClose}>
            Run the tests
          </a>
          <Button onClick={onClose}>Close</Button>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog title="A policy test" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          run(save)
        }}
      >
        <Field label="What it says">
          <input
            value={name}
            placeholder={`${viewerLabel(viewer)} cannot see the notes of others`}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </Field>
        <TextField label="Request" required value={request} onText={setRequest} />
        <p>
          As <strong>{viewerLabel(viewer)}</strong>
          {viewer.kind === 'user' && (
            <label class="check">
              <input
                type="checkbox"
                checked={byClaims}
                onChange={({ currentTarget }) => setByClaims(currentTarget.checked)}
              />
              <span>
                by the claims of its token: the account is not in <code>seed.sql</code>
              </span>
            </label>
          )}
        </p>
        <fieldset>
          <legend>It expects</legend>
          <div class="bar">
            <NumberField
              label="Rows"
              value={expected.rows}
              onChange={(rows) => setExpected(withField(expected, { rows }))}
            />
            <NumberField
              label="Status"
              value={expected.status}
              onChange={(status) => setExpected(withField(expected, { status }))}
            />
            <Field label="Error code">
              <input
                size={8}
                value={expected.error ?? ''}
                onInput={({ currentTarget: { value } }) =>
                  setExpected(withField(expected, { error: value === '' ? undefined : value }))
                }
              />
            </Field>
          </div>
          <Button isBusy={isBusy} onClick={() => run(async () => setExpected(expectationOf(await ask())))}>
            Fill in what it gets now
          </Button>
        </fieldset>
        <p class="faint small">
          Tests run on a database with your migrations and <code>seed.sql</code>, not on this one.
        </p>
        <Problem error={error} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy} isDisabled={Object.keys(expected).length === 0}>
            Write the test
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** The fields that are defined. */
const withField = (
  expected: Expected,
  change: { readonly [Name in keyof Expected]: Expected[Name] | undefined },
): Expected => Object.fromEntries(Object.entries({ ...expected, ...change }).filter(([, value]) => value !== undefined))

type NumberFieldProps = {
  readonly label: string
  readonly value: number | undefined
  readonly onChange: (value: number | undefined) => void
}

const NumberField = ({ label, value, onChange }: NumberFieldProps) => (
  <Field label={label}>
    <input
      type="number"
      min={0}
      value={value ?? ''}
      onInput={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : Number(currentTarget.value))}
    />
  </Field>
)

function testCaller(viewer: Viewer, claims: ShownExplanation['request']['claims'] | undefined): TestCaller {
  if (viewer.kind === 'role') return viewer.role
  if (!claims) return viewer.label
  // `amr` has the moment of a sign-in.
  const lasting = Object.fromEntries(Object.entries(claims).filter(([name]) => name !== 'amr'))
  return { role: typeof lasting.role === 'string' ? lasting.role : 'authenticated', claims: lasting }
}

function headersOf(headers: readonly string[] = []): Pick<NewPolicyTest, 'headers'> {
  if (headers.length === 0) return {}
  return {
    headers: Object.fromEntries(
      headers.map((header) => {
        const colon = header.indexOf(':')
        return [header.slice(0, colon).trim(), header.slice(colon + 1).trim()]
      }),
    ),
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}
