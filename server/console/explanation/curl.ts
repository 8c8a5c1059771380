// Reads a request as people paste it: a command of curl, or a method and a path with headers and a body below it.

export type PastedRequest = {
  /** Method and path. */
  readonly request: string
  /** `Name: value` each. */
  readonly headers: readonly string[]
  readonly body: string | undefined
}

/** Headers that say who the caller is: the caller is chosen instead. */
const ofCaller = /^(?:authorization|apikey|cookie|host|user-agent|accept-encoding|connection|content-length)\s*:/i

/** @returns undefined for a text that is no command of curl */
export function parseCurl(text: string): PastedRequest | undefined {
  const words = shellWords(text.trim())
  if (words[0] !== 'curl') return undefined
  let method: string | undefined
  let url = ''
  const headers: string[] = []
  let body: string | undefined
  for (let index = 1; index < words.length; index++) {
    const word = words[index] ?? ''
    const [name, attached] = optionOf(word)
    const value = (): string => attached ?? words[++index] ?? ''
    if (name === '-X' || name === '--request') method = value().toUpperCase()
    else if (name === '-H' || name === '--header') headers.push(value())
    else if (dataOptions.has(name)) body = body === undefined ? value() : `${body}&${value()}`
    else if (name === '-I' || name === '--head') method = 'HEAD'
    else if (name === '--url') url = value()
    else if (valuedOptions.has(name)) value()
    else if (!word.startsWith('-')) url = word
  }
  const path = url.replace(/^[a-z]+:\/\/[^/]*/i, '')
  return {
    request: `${method ?? (body === undefined ? 'GET' : 'POST')} ${path === '' ? '/' : path}`,
    headers: headers.filter((header) => !ofCaller.test(header)),
    body,
  }
}

const dataOptions = new Set(['-d', '--data', '--data-raw', '--data-binary', '--data-ascii', '--json'])
const valuedOptions = new Set([
  '-o',
  '--output',
  '-u',
  '--user',
  '-A',
  '--user-agent',
  '-b',
  '--cookie',
  '-m',
  '--max-time',
])

/** An option and the value that is attached to it: `-XPOST`, `--request=POST`. */
function optionOf(word: string): readonly [string, string | undefined] {
  if (/^-[XHd]./.test(word)) return [word.slice(0, 2), word.slice(2)]
  const [, name, value] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? []
  return name === undefined ? [word, undefined] : [name, value]
}

/** The words of a command, as a shell reads quotes and backslashes. */
function shellWords(text: string): readonly string[] {
  const pattern = /\$'((?:[^'\\]|\\.)*)'|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(\r?\n|.)|(\s+)|([^\s'"\\$]+|\$)/gs
  const words: string[] = []
  let word: string | undefined
  for (const [, ansi, single, double, escaped, blank, plain] of text.matchAll(pattern)) {
    if (blank !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (escaped !== undefined && /^\r?\n$/.test(escaped)) {
      // A line that goes on.
    } else {
      const part =
        single ?? plain ?? escaped ?? double?.replace(/\\(["\\$`])/g, '$1') ?? ansi?.replace(/\\(.)/gs, ansiCharacter)
      word = (word ?? '') + (part ?? '')
    }
  }
  return word === undefined ? words : [...words, word]
}

const ansiCharacter = (_all: string, sign: string): string => ({ n: '\n', t: '\t', r: '\r' })[sign] ?? sign
