// Patterns of names after `\d`, as in psql: `*` and `?` are wildcards, a dot separates the schema, double quotes keep
// capital letters.
// https://www.postgresql.org/docs/current/app-psql.html#APP-PSQL-PATTERNS

/** Regular expressions of the server for a schema and a name. Undefined without a schema. */
export type NamePattern = { readonly schema: string | undefined; readonly name: string }

export function namePattern(text: string): NamePattern {
  const parts = ['']
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? ''
    const last = parts.length - 1
    if (sign === '"') {
      if (isQuoted && text[at + 1] === '"') parts[last] += text[++at] ?? ''
      else isQuoted = !isQuoted
    } else if (!isQuoted && sign === '.' && parts.length === 1) parts.push('')
    else if (!isQuoted && sign === '*') parts[last] += '.*'
    else if (!isQuoted && sign === '?') parts[last] += '.'
    else parts[last] += escaped(isQuoted ? sign : sign.toLowerCase())
  }
  const [first = '', second] = parts
  return second === undefined
    ? { schema: undefined, name: `^(${first || '.*'})$` }
    : { schema: `^(${first || '.*'})$`, name: `^(${second || '.*'})$` }
}

/** A character as itself within a regular expression. */
const escaped = (sign: string): string => (/[\w\u0080-\uffff\s]/.test(sign) ? sign : `\\${sign}`)
