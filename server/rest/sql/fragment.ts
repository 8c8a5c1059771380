// SQL text mixed with parameters. Placeholders are numbered when a statement is rendered.

/** A parameter: text, bytes (sent in binary format) or NULL. Postgres infers its type from the text around it. */
export type Parameter = { readonly value: string | Buffer | null }

/** Part of a statement. Nested arrays make composing cheap. */
export type Fragment = string | Parameter | readonly Fragment[]

export type Statement = { readonly text: string; readonly values: readonly (string | Buffer | null)[] }

/** Joins fragments by a separator. */
export function join(fragments: readonly Fragment[], separator: string): Fragment {
  return fragments.flatMap((fragment, index) => (index === 0 ? [fragment] : [separator, fragment]))
}

/** Renders a fragment to a text with the placeholders `$1 …`, and their values. */
export function render(fragment: Fragment): Statement {
  const values: (string | Buffer | null)[] = []
  let text = ''
  const append = (piece: Fragment): void => {
    if (typeof piece === 'string') text += piece
    else if ('value' in piece) text += `$${values.push(piece.value)}`
    else for (const part of piece) append(part)
  }
  append(fragment)
  return { text, values }
}
