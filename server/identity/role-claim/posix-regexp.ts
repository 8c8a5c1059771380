// Translates POSIX extended regular expressions, the argument of `search` in PostgREST's JSONPath, to JavaScript's.

const classes: ReadonlyMap<string, string> = new Map([
  ['alpha', 'A-Za-z'],
  ['digit', '0-9'],
  ['alnum', 'A-Za-z0-9'],
  ['upper', 'A-Z'],
  ['lower', 'a-z'],
  ['space', '\\s'],
  ['blank', ' \\t'],
  ['punct', '!-\\/:-@\\[-`{-~'],
  ['xdigit', 'A-Fa-f0-9'],
  ['word', '\\w'],
  ['cntrl', '\\x00-\\x1f\\x7f'],
  ['print', '\\x20-\\x7e'],
  ['graph', '\\x21-\\x7e'],
])

/** In POSIX brackets there are no escapes, a leading `]` is literal, and `[:alpha:]` names a class. */
const bracket = /\[(\^?)(\]?(?:\[:[a-z]+:\]|[^\]])*)\]|\\[\s\S]/g

function translate(source: string): string {
  return source.replaceAll(bracket, (whole: string, negation: string | undefined, body: string | undefined) => {
    if (body === undefined) return whole === '\\<' || whole === '\\>' ? '\\b' : whole
    const inner = body.replaceAll(/\[:([a-z]+):\]|[\\\][]/g, (piece, name: string | undefined) =>
      name === undefined ? `\\${piece}` : (classes.get(name) ?? ''),
    )
    return `[${negation ?? ''}${inner}]`
  })
}

/** Undefined when the expression is invalid. As in PostgREST, `^` and `$` also match at line breaks. */
export function posixRegExp(source: string): RegExp | undefined {
  try {
    return new RegExp(translate(source), 'm')
  } catch {
    return undefined
  }
}
