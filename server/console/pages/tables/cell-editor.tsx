// Editors of one value, by its type.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ColumnDetails } from '../../../services/console/schema-protocol.ts'
import { isNull, isStructured, jsonOf, prettyJson, textOf } from '../../rest/cells.ts'
import { useAction } from '../../forms.tsx'
import { Button, Dialog } from '../../parts.tsx'
import { Refusal } from './refusal.tsx'

type Props = {
  readonly column: ColumnDetails
  /** The stored value. */
  readonly json: string | undefined
  /** What was typed in the cell and refused. */
  readonly refused: string | undefined
  readonly onSave: (json: string) => Promise<void>
  /** Receives a value that was typed in its cell, and its error. */
  readonly onRefused: (json: string, error: unknown) => void
  /** The stored value is to stay. */
  readonly onGiveUp: () => void
  readonly onClose: (move?: 1 | -1) => void
}

const longText = 80

/** Whether a value needs more than a line. */
const isLarge = (column: ColumnDetails, json: string | undefined): boolean => {
  if (isStructured(column)) return true
  const text = textOf(json, column)
  return column.category === 'S' && (text.length > longText || text.includes('\n'))
}

/** Edits a value in its cell. Long texts and documents get a dialog. */
export const CellEditor = (props: Props) =>
  isLarge(props.column, props.json) ? <LargeEditor {...props} /> : <LineEditor {...props} />

/** Among the choices; no value of the database contains it. */
const nullChoice = '\0'

function LineEditor({ column, json, refused, onSave, onRefused, onGiveUp, onClose }: Props) {
  const shown = refused ?? json
  const [text, setText] = useState(textOf(shown, column))
  const [choice, setChoice] = useState(isNull(shown) ? nullChoice : text)
  // Browsers report a change with each arrow key.
  const isChosenByKey = useRef(false)
  const box = useRef<HTMLSpanElement>(null)
  const isDone = useRef(false)
  // Before it is painted: what is typed at once belongs here.
  useLayoutEffect(() => {
    const control = box.current?.querySelector<HTMLInputElement | HTMLSelectElement>('input, select')
    control?.focus()
    if (control instanceof HTMLInputElement && control.type === 'text') control.select()
  }, [])
  const end = (value: string | undefined, move?: 1 | -1): void => {
    if (isDone.current) return
    isDone.current = true
    onClose(move)
    if (value === undefined) onGiveUp()
    else onSave(value).catch((error: unknown) => onRefused(value, error))
  }
  const save = (move?: 1 | -1): void => {
    const isText = (value: string | undefined): boolean =>
      text === textOf(value, column) && (!isNull(value) || text === '')
    if (isText(json)) end(undefined, move)
    // A refused null stays one.
    else end(isText(refused) ? refused : jsonOf(text, column), move)
  }
  const saveChoice = (chosen: string, move?: 1 | -1): void => {
    const isSame = chosen === (isNull(json) ? nullChoice : textOf(json, column))
    end(isSame ? undefined : chosen === nullChoice ? 'null' : jsonOf(chosen, column), move)
  }
  const choices = choicesOf(column)
  const finish = (move?: 1 | -1): void => (choices ? saveChoice(choice, move) : save(move))
  const onKeyDown = (event: KeyboardEvent): void => {
    event.stopPropagation()
    isChosenByKey.current = true
    if (event.key === 'Escape') end(undefined)
    if (event.key === 'Enter') finish()
    if (event.key === 'Tab') finish(event.shiftKey ? -1 : 1)
    if (event.key === 'Tab' || event.key === 'Enter') event.preventDefault()
  }
  const label = `New value of ${column.name}`
  const control = {
    'aria-label': label,
    placeholder: isNull(shown) ? 'null' : '',
    inputMode: column.category === 'N' ? ('decimal' as const) : ('text' as const),
    value: text,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => setText(currentTarget.value),
    onKeyDown,
    onBlur: () => finish(),
  }
  return (
    <span ref={box} class="cell-editor" onDblClick={(event) => event.stopPropagation()}>
      {choices ? (
        <select
          aria-label={label}
          value={choice}
          onKeyDown={onKeyDown}
          onPointerDown={() => (isChosenByKey.current = false)}
          onBlur={() => finish()}
          onChange={({ currentTarget: { value } }) => {
            setChoice(value)
            if (!isChosenByKey.current) saveChoice(value)
          }}
        >
          {(column.isNullable || isNull(json)) && <option value={nullChoice}>null</option>}
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <>
          {isDate(column, shown) ? <input type="date" {...control} /> : <input {...control} />}
          {column.isNullable && !isNull(json) && (
            <button
              type="button"
              title="Set to null"
              onPointerDown={(event) => {
                event.preventDefault()
                end('null')
              }}
            >
              null
            </button>
          )}
        </>
      )}
    </span>
  )
}

/** Whether browsers have an editor for it: not for `infinity`, and years before Christ. */
const isDate = ({ baseType }: ColumnDetails, json: string | undefined): boolean =>
  baseType === 'date' && (isNull(json) || /^"\d{4}-\d\d-\d\d"$/.test(json ?? ''))

/** The values of a column that has few. */
export const choicesOf = ({ category, enumValues, isArray }: ColumnDetails): readonly string[] | undefined => {
  if (isArray) return undefined
  if (category === 'B') return ['true', 'false']
  return category === 'E' && enumValues.length > 0 ? enumValues : undefined
}

/** Stays open until the value is accepted, with what is wrong at which place of a document. */
function LargeEditor({ column, json, onSave, onClose }: Props) {
  const isDocument = isStructured(column)
  const [text, setText] = useState(() => {
    const shown = textOf(json, column)
    return isDocument && shown !== '' ? prettyJson(shown) : shown
  })
  const { error, isBusy, run } = useAction()
  const format = (): void => run(() => setText(prettyJson(jsonOf(text, column))))
  const save = (valueOf: () => string): void =>
    run(async () => {
      await onSave(valueOf())
      onClose()
    })
  return (
    <Dialog title={column.name} isWide onClose={() => onClose()}>
      <p class="faint">
        <code>{column.type}</code> {column.comment}
      </p>
      <form
        onKeyDown={(event) => {
          event.stopPropagation()
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit()
        }}
        onSubmit={(event) => {
          event.preventDefault()
          save(() => jsonOf(text, column))
        }}
      >
        <textarea
          autofocus
          rows={Math.min(24, Math.max(6, text.split('\n').length + 1))}
          aria-label={`New value of ${column.name}`}
          spellcheck={!isDocument}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <div class="actions">
          {isDocument && <Button onClick={format}>Format</Button>}
          {column.isNullable && <Button onClick={() => save(() => 'null')}>Set to null</Button>}
          <Button onClick={() => onClose()}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Save
          </Button>
        </div>
      </form>
      <Refusal error={error} />
    </Dialog>
  )
}
