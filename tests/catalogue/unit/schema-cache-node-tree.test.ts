import t from 'tap'
import { columnOrigins } from '../../../server/catalogue/node-tree.ts'
import { cpuTime } from '../../support/cpu-time.ts'

const entry = (
  number: number,
  origin: string,
  { name = 'x', expression = '{VAR :varno 3 :location 40}' } = {},
): string =>
  `{TARGETENTRY :expr ${expression} :resno ${number} :resname ${name} :ressortgroupref 0 ${origin} :resjunk false}`
const query = (before: string, targets: string): string =>
  `({QUERY :commandType 1 :utilityStmt <> ${before} :targetList ${targets} :override 0 :returningList <>})`
const at = (relation: number, column: number): string => `:resorigtbl ${relation} :resorigcol ${column}`

const cases: [string, string, unknown[]][] = [
  [
    'plain columns',
    query(':cteList <>', `(${entry(1, at(16707, 1))} ${entry(2, at(16707, 12))})`),
    [
      { column: 1, relation: '16707', relationColumn: 1 },
      { column: 2, relation: '16707', relationColumn: 12 },
    ],
  ],
  [
    'the numbers of an entry are its own, in any order',
    query('', `(${entry(3, at(4294967295, 2))} ${entry(1, at(5, 1))})`),
    [
      { column: 3, relation: '4294967295', relationColumn: 2 },
      { column: 1, relation: '5', relationColumn: 1 },
    ],
  ],
  ['expressions', query('', `(${entry(1, at(0, 0))})`), []],
  ['whole rows and system columns', query('', `(${entry(1, at(16707, 0))} ${entry(2, at(16707, -1))})`), []],
  ['no target list', query('', '<>'), []],
  ['no query, as of a rule that does nothing', '<>', []],
  ['empty text', '', []],
  [
    'cut text',
    query('', `(${entry(1, at(5, 1))} {TARGETENTRY :expr {VAR`).slice(0, -30),
    [{ column: 1, relation: '5', relationColumn: 1 }],
  ],
  [
    'target lists of subqueries, before and within',
    query(
      `:cteList ({COMMONTABLEEXPR :ctequery {QUERY :targetList (${entry(1, at(7, 7))})}})`,
      `(${entry(1, at(0, 0), { expression: `{SUBLINK :subselect {QUERY :targetList (${entry(4, at(8, 8))})} :location 1}` })} ${entry(2, at(9, 9))})`,
    ),
    [{ column: 2, relation: '9', relationColumn: 9 }],
  ],
  [
    'lists within an expression',
    query(
      '',
      `(${entry(1, at(9, 1), { expression: '{FUNCEXPR :args ({CONST :constvalue 4 [ 1 0 0 0 ]} ({VAR}))}' })})`,
    ),
    [{ column: 1, relation: '9', relationColumn: 1 }],
  ],
  [
    'names that look like syntax',
    query(
      String.raw`:aliasname \:targetList\ \(\{TARGETENTRY :colnames ("a\ b" "\}\)\\")`,
      `(${entry(1, at(9, 1), { name: String.raw`\ :resno\ 5\ :resorigtbl\ 1\ :resorigcol\ 7\ \}\)\\` })})`,
    ),
    [{ column: 1, relation: '9', relationColumn: 1 }],
  ],
  [
    'only the first query of several',
    `${query('', `(${entry(1, at(1, 1))})`).slice(0, -1)} ${query('', `(${entry(1, at(2, 2))})`).slice(1)}`,
    [{ column: 1, relation: '1', relationColumn: 1 }],
  ],
]

for (const [name, tree, expected] of cases) {
  t.test(name, async (t) => t.strictSame(columnOrigins(tree), expected))
}

t.test('parsing a tree takes time proportional to its size', async (t) => {
  const nested = `${'({A '.repeat(100_000)}${'})'.repeat(100_000)}`
  const tree = query(`:rtable ${nested}`, `(${entry(1, at(2, 3), { name: 'x'.repeat(100_000) })})`)
  // Quadratic time would take minutes.
  const time = cpuTime(() => t.strictSame(columnOrigins(tree), [{ column: 1, relation: '2', relationColumn: 3 }]))
  t.ok(time < 5000, `${time} ms`)
})
