import t from 'tap'
import { ConfigFileError, readConfigFile } from '../../../server/config/config-file.ts'

const environment: Readonly<Record<string, string>> = { HOME: '/home/me', EMPTY: '', A: 'from the environment' }

function read(files: Readonly<Record<string, string>>): Record<string, unknown> {
  const values = readConfigFile('etc/main.conf', {
    read: (path) => {
      const text = files[path]
      if (text === undefined) throw new Error(`no file ${path}`)
      return text
    },
    variable: (name) => environment[name],
  })
  return Object.fromEntries(values)
}

const good: readonly [string, Record<string, unknown>][] = [
  ['', {}],
  ['\n \t\r\n# only a comment', {}],
  ['\uFEFFa = 1', { a: 1 }],
  ['a = 1\nb = 2', { a: 1, b: 2 }],
  ['a=1\r\nb=2\r\n', { a: 1, b: 2 }],
  ['a = 1 # why\n\n# more\nb = 2 #', { a: 1, b: 2 }],
  ['a\n=\n# here\n1', { a: 1 }],
  ['a = true\nb = false\nc = on\nd = off', { a: true, b: false, c: true, d: false }],
  ['a = 1.5\nb = 1e3\nc = 2.5E-1\nd = 007', { a: 1.5, b: 1000, c: 0.25, d: 7 }],
  ['a = ""\nb = "x y"', { a: '', b: 'x y' }],
  ['a = "# no comment" # comment', { a: '# no comment' }],
  ['a = "two\nlines"', { a: 'two\nlines' }],
  ['a = "\\n\\t\\r\\"\\\\"', { a: '\n\t\r"\\' }],
  ['a = "\\u00e9\\ud83d\\ude00"', { a: 'é😀' }],
  ['a = "Commènt utf-8 chàrs"', { a: 'Commènt utf-8 chàrs' }],
  ['a = []\nb = [ 1 , "x" ,\n true, [2] ]', { a: [], b: [1, 'x', true, [2]] }],
  ['a = ["$x"]', { a: ['$x'] }],
  ['app.settings.x-y_1 = 1', { 'app.settings.x-y_1': 1 }],
  ['größe = 1', { größe: 1 }],
  ['a = 1\na = 2', { a: 2 }],
  ['constructor = 2\nhasOwnProperty = 3', { constructor: 2, hasOwnProperty: 3 }],
  ['a { b = 1\n c = 2 }\nd = 3', { 'a.b': 1, 'a.c': 2, d: 3 }],
  ['a {\n}\nb { c { d = 1 } }', { 'b.c.d': 1 }],
  ['#; a = 1\nb = 2', { b: 2 }],
  ['#; a { b = "$(none)" }\nc = 2', { c: 2 }],
  ['importance = 1\nimport.a = 2', { importance: 1, 'import.a': 2 }],
  ['a = "$$"\nb = "$$x$$"\nc = "50$$"', { a: '$', b: '$x$', c: '50$' }],
  ['a = "$(HOME)/x"\nb = "$(EMPTY)"', { a: '/home/me/x', b: '' }],
  ['A = "here"\nb = "$(A)"', { A: 'here', b: 'here' }],
  ['b = "$(A)"\nA = "here"', { A: 'here', b: 'from the environment' }],
  ['n = 5\nf = 1.5\ns = "$(n) and $(f)"', { n: 5, f: 1.5, s: '5 and 1.5' }],
  ['A = "out"\ng { A = "in"\n x = "$(A)" }\nx = "$(A)"', { A: 'out', 'g.A': 'in', 'g.x': 'in', x: 'out' }],
  ['g { x = "$(A)" }', { 'g.x': 'from the environment' }],
]

t.test('valid files', async (t) => {
  for (const [text, expected] of good) t.strictSame(read({ 'etc/main.conf': text }), expected, text)
})

t.test('imports', async (t) => {
  t.strictSame(
    read({
      'etc/main.conf': 'import "more/a.conf"\ng { import "/abs.conf" }\nx = "$(deep)"',
      'etc/more/a.conf': 'a = 1\nimport "b.conf"',
      'etc/more/b.conf': 'deep = "b"',
      '/abs.conf': 'c = 2',
    }),
    { a: 1, deep: 'b', 'g.c': 2, x: 'b' },
  )
})

const bad: readonly [string, string][] = [
  ['a', "etc/main.conf:1:2: expected '=' or '{'"],
  ['a = ', 'etc/main.conf:1:5: expected a value: text in quotes, a number, true, false, or a list'],
  ['a = x', 'etc/main.conf:1:5: expected a value: text in quotes, a number, true, false, or a list'],
  ["a = 'x'", 'etc/main.conf:1:5: expected a value: text in quotes, a number, true, false, or a list'],
  ['a = -1', 'etc/main.conf:1:5: expected a value: text in quotes, a number, true, false, or a list'],
  ['a = 1 b = 2', 'etc/main.conf:1:7: expected a name'],
  ['a = truest', 'etc/main.conf:1:9: expected a name'],
  ['a = 1\n  = 2', 'etc/main.conf:2:3: expected a name'],
  ['ä = 1\n1a = 2', 'etc/main.conf:2:1: expected a name'],
  ['__proto__ = 1', 'etc/main.conf:1:1: expected a name'],
  ['a. = 1', "etc/main.conf:1:2: expected '=' or '{'"],
  ['a = "x', "etc/main.conf:1:7: expected '\"'"],
  ['a = "\\x"', 'etc/main.conf:1:7: expected one of the escapes \\n \\t \\r \\" \\\\ \\uXXXX'],
  ['a = "\\u12"', 'etc/main.conf:1:8: expected four hexadecimal digits'],
  ['a = "\\ud800"', 'etc/main.conf:1:12: expected a valid surrogate pair'],
  ['a = "\\ud800\\u0041"', 'etc/main.conf:1:18: expected a valid surrogate pair'],
  ['a = [1 2]', "etc/main.conf:1:8: expected ',' or ']'"],
  ['a = [1', "etc/main.conf:1:7: expected ',' or ']'"],
  ['a { b = 1', "etc/main.conf:1:10: expected a name or '}'"],
  ['a = 1\n}', 'etc/main.conf:2:1: expected a name'],
  ['#;', 'etc/main.conf:1:3: expected a directive'],
  ['import x', 'etc/main.conf:1:8: expected the name of a file in quotes'],
  ['import "none.conf"', 'no file etc/none.conf'],
  ['import "main.conf"', 'etc/main.conf:1:19: expected fewer imports within imports'],
  ['a = "$"', "etc/main.conf: a: a single '$' must be written as '$$'; '$(NAME)' inserts a variable"],
  ['a = "$x"', "etc/main.conf: a: a single '$' must be written as '$$'; '$(NAME)' inserts a variable"],
  ['a = "$(HOME"', "etc/main.conf: a: a single '$' must be written as '$$'; '$(NAME)' inserts a variable"],
  ['a = "$()"', "etc/main.conf: a: a single '$' must be written as '$$'; '$(NAME)' inserts a variable"],
  ['a = "$(none)"', "etc/main.conf: a: no such variable: 'none'"],
  ['f = true\ng { a = "$(f)" }', "etc/main.conf: g.a: variable 'f' is not a string or number"],
]

t.test('errors name file, line and column', async (t) => {
  for (const [text, message] of bad) {
    t.throws(() => read({ 'etc/main.conf': text }), new ConfigFileError(message), text)
  }
})
