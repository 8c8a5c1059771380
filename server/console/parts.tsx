// The parts that all pages are made of.
import type { ComponentChildren, ComponentProps } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ApiProblem } from './api.ts'

type Children = { readonly children?: ComponentChildren }

type ButtonProps = Children & {
  readonly type?: 'button' | 'submit'
  readonly kind?: 'plain' | 'primary' | 'danger'
  readonly isBusy?: boolean
  readonly isDisabled?: boolean
  readonly title?: string
  readonly onClick?: () => void
}

export const Button = ({
  type = 'button',
  kind = 'plain',
  isBusy = false,
  isDisabled = false,
  ...props
}: ButtonProps) => (
  <button type={type} class={`button ${kind}`} disabled={isBusy || isDisabled} aria-busy={isBusy} {...props} />
)

/** A control with its label, and what is wrong with its value. */
export const Field = ({
  label,
  error,
  children,
}: Children & { readonly label: string; readonly error?: string | undefined }) => (
  <label class="field">
    <span>{label}</span>
    {children}
    {error !== undefined && <em role="alert">{error}</em>}
  </label>
)

type TextFieldProps = {
  readonly label: string
  readonly error?: string | undefined
  readonly value: string
  readonly onText: (text: string) => void
  readonly type?: 'text' | 'email' | 'tel' | 'password' | 'number' | 'date'
  readonly autocomplete?: 'off' | 'username' | 'current-password' | 'new-password' | 'one-time-code'
  readonly class?: string
  readonly inputMode?: 'numeric' | 'decimal'
  readonly max?: number | string
  readonly maxLength?: number
  readonly min?: number | string
  readonly placeholder?: string
  readonly required?: boolean
}

/** A field for one line of text. */
export function TextField({ label, error, onText, ...input }: TextFieldProps) {
  // The types of preact have an alternative for each type of input, but none for several of them.
  const attributes = input as ComponentProps<'input'>
  return (
    <Field label={label} error={error}>
      <input {...attributes} onInput={({ currentTarget }) => onText(currentTarget.value)} />
    </Field>
  )
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : typeof error === 'string' ? error : 'Something went wrong'

/** An error as the API gives it, with its details and hint. */
export function Problem({ error }: { readonly error: unknown }) {
  if (error === undefined || error === null) return null
  const problem = error instanceof ApiProblem ? error : undefined
  return (
    <div class="problem" role="alert">
      <p>
        {problem && <code>{problem.code ?? problem.status}</code>} {messageOf(error)}
      </p>
      {problem?.details && <p>{problem.details}</p>}
      {problem?.hint && <p class="hint">{problem.hint}</p>}
      {problem && Object.keys(problem.fieldErrors).length > 0 && (
        <ul>
          {Object.entries(problem.fieldErrors).map(([name, text]) => (
            <li key={name}>
              <code>{name}</code>: {text}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** What a page shows where there is nothing yet, and what to do next. */
export const Empty = ({ title, children }: Children & { readonly title: string }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
)

export const Loading = ({ text = 'Loading …' }: { readonly text?: string }) => (
  <p class="faint" role="status">
    {text}
  </p>
)

export const Badge = ({
  kind = 'plain',
  title,
  children,
}: Children & { readonly kind?: 'plain' | 'good' | 'warning' | 'bad'; readonly title?: string }) => (
  <span class={`badge ${kind}`} {...(title === undefined ? {} : { title })}>
    {children}
  </span>
)

/** Copies a text. */
export function Copy({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [isDone, setDone] = useState(false)
  useEffect(() => {
    if (!isDone) return undefined
    const timer = setTimeout(() => setDone(false), 1500)
    return () => clearTimeout(timer)
  }, [isDone])
  return (
    <button
      type="button"
      class="button copy"
      onClick={() => void navigator.clipboard.writeText(text).then(() => setDone(true))}
    >
      {isDone ? 'Copied' : label}
    </button>
  )
}

/** A text to be copied, such as a command. */
export const Snippet = ({ text, label }: { readonly text: string; readonly label?: string }) => (
  <div class="snippet">
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
    <Copy text={text} {...(label === undefined ? {} : { label })} />
  </div>
)

type TableProps = Children & {
  /** The headings of the columns. */
  readonly head: readonly ComponentChildren[]
  readonly class?: string
}

/** A table of a few rows, which are its children. */
export const Table = ({ head, class: name = '', children }: TableProps) => (
  <Scrollable>
    <table class={name}>
      <thead>
        <tr>
          {head.map((heading, index) => (
            <th scope="col" key={index}>
              {heading}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </Scrollable>
)

/** What may be wider than the page. The keyboard reaches it while it is: arrow keys scroll it then. */
export function Scrollable({ children }: Children) {
  const place = useRef<HTMLDivElement>(null)
  const [isWide, setWide] = useState(false)
  useLayoutEffect(() => {
    const box = place.current
    if (!box) return undefined
    const observer = new ResizeObserver(() => setWide(box.scrollWidth > box.clientWidth))
    observer.observe(box)
    for (const child of box.children) observer.observe(child)
    return () => observer.disconnect()
  }, [])
  return (
    <div class="table" ref={place} {...(isWide ? { tabIndex: 0, role: 'group', 'aria-label': 'Wide table' } : {})}>
      {children}
    </div>
  )
}

type Tab<Key extends string> = { readonly key: Key; readonly label: string }

type TabsProps<Key extends string> = {
  readonly label: string
  readonly tabs: readonly Tab<Key>[]
  readonly chosen: Key
  readonly onChoose: (key: Key) => void
}

/** Buttons of which one is pressed. */
export const Tabs = <Key extends string>({ label, tabs, chosen, onChoose }: TabsProps<Key>) => (
  <div class="tabs" role="group" aria-label={label}>
    {tabs.map(({ key, label: text }) => (
      <button type="button" key={key} aria-pressed={key === chosen} onClick={() => onChoose(key)}>
        {text}
      </button>
    ))}
  </div>
)

type DialogProps = Children & { readonly title: string; readonly onClose: () => void; readonly isWide?: boolean }

/** A modal dialog. Escape and the button close it. https://html.spec.whatwg.org/multipage/interactive-elements.html#the-dialog-element */
export function Dialog({ title, onClose, isWide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // Before it is painted: a key that is pressed at once is meant for the dialog.
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'wide' : ''}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <button type="button" class="button close" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </header>
      {children}
    </dialog>
  )
}

export type Loaded<T> = {
  /** The last value, also while the next one is loaded. */
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
  readonly reload: () => void
}

/** Loads a value when the component appears, when one of `dependencies` changes, and on `reload`. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, dependencies: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({ value: undefined, error: undefined, isLoading: true })
  const [round, setRound] = useState(0)
  useEffect(() => {
    const ending = new AbortController()
    setState(({ value }) => ({ value, error: undefined, isLoading: true }))
    load(ending.signal).then(
      (value) => ending.signal.aborted || setState({ value, error: undefined, isLoading: false }),
      (error: unknown) => ending.signal.aborted || setState(({ value }) => ({ value, error, isLoading: false })),
    )
    return () => ending.abort()
  }, [...dependencies, round])
  return { ...state, reload: () => setRound((count) => count + 1) }
}
