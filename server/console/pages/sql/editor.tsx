// The editor of SQL. It lives in a shadow root: there, CodeMirror adds its styles by scripts, which the content security policy
// allows, instead of by elements.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { PostgreSQL, sql, type SQLNamespace } from '@codemirror/lang-sql'
import { bracketMatching, defaultHighlightStyle, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { Compartment, EditorState } from '@codemirror/state'
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'preact/hooks'

/** The colours of the console for those of CodeMirror's own style. */
const colours: Readonly<Record<string, string>> = {
  '#708': 'var(--link)',
  '#a11': 'var(--good)',
  '#e40': 'var(--good)',
  '#164': 'var(--warning)',
  '#219': 'var(--warning)',
  '#940': 'var(--faint)',
  '#f00': 'var(--bad)',
}

const highlighting = HighlightStyle.define(
  defaultHighlightStyle.specs.map((spec) => ({
    ...spec,
    color: colours[String(spec.color)] ?? 'inherit',
  })),
)

const theme = EditorView.theme({
  '&': { height: '100%', fontSize: '0.875rem', backgroundColor: 'var(--ground)', color: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--link)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)', minHeight: '8rem' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--faint)', border: 'none' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--mark)',
  },
  '.cm-tooltip': { backgroundColor: 'var(--ground)', color: 'var(--text)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--link)', color: 'var(--on-link)' },
})

export type EditorHandle = {
  /** The selected text, or all of it, and where it begins. */
  readonly chosen: () => { readonly text: string; readonly offset: number }
  readonly replace: (text: string) => void
  /** Moves the cursor. */
  readonly show: (position: number) => void
}

type EditorProps = {
  readonly initial: string
  /** Names for completion: columns by table, tables by schema. */
  readonly schema: SQLNamespace
  readonly defaultSchema: string
  readonly onReady: (editor: EditorHandle) => void
  readonly onChange: (text: string) => void
  /** Ctrl or Cmd with Enter. */
  readonly onRun: () => void
}

export function SqlEditor({ initial, schema, defaultSchema, onReady, onChange, onRun }: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const language = useRef(new Compartment())
  const view = useRef<EditorView>(null)
  const callbacks = useRef({ onChange, onRun })
  callbacks.current = { onChange, onRun }
  useEffect(() => {
    const element = host.current
    if (!element) return undefined
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
    const created = new EditorView({
      root,
      parent: root as unknown as Element,
      state: EditorState.create({
        doc: initial,
        extensions: [
          keymap.of([
            {
              key: 'Mod-Enter',
              run: () => {
                callbacks.current.onRun()
                return true
              },
            },
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...defaultKeymap,
            ...historyKeymap,
            indentWithTab,
          ]),
          lineNumbers(),
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ icons: false }),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': 'SQL' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) callbacks.current.onChange(update.state.doc.toString())
          }),
          language.current.of(languageOf(schema, defaultSchema)),
          syntaxHighlighting(highlighting),
          theme,
        ],
      }),
    })
    view.current = created
    onReady(handleOf(created))
    return () => created.destroy()
  }, [])
  useEffect(() => {
    view.current?.dispatch({ effects: language.current.reconfigure(languageOf(schema, defaultSchema)) })
  }, [schema, defaultSchema])
  return <div class="sql-editor" ref={host} />
}

const languageOf = (schema: SQLNamespace, defaultSchema: string) =>
  sql({ dialect: PostgreSQL, schema, defaultSchema, upperCaseKeywords: false })

const handleOf = (view: EditorView): EditorHandle => ({
  chosen: () => {
    const { from, to, empty } = view.state.selection.main
    return empty
      ? { text: view.state.doc.toString(), offset: 0 }
      : { text: view.state.sliceDoc(from, to), offset: from }
  },
  replace: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
  show: (position) => {
    view.dispatch({ selection: { anchor: Math.min(position, view.state.doc.length) }, scrollIntoView: true })
    view.focus()
  },
})
