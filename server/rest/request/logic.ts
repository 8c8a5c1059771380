// The grammar of the parameters `and` and `or`.
import { comma, delimiter, field, lexeme, noneOf, parseLogicPath } from './field.ts'
import type { AtPath, Field } from './field.ts'
import { plainElement, quotedElement, test } from './filter.ts'
import type { Filter, LogicTree } from './filter.ts'
import {
  attempt,
  between,
  choice,
  label,
  literal,
  map,
  nested,
  run,
  separatedBy1,
  sequence,
  succeed,
  symbol,
} from './combinators.ts'
import { parse } from './parser.ts'
import type { Parser } from './parser.ts'

/** `{1,2}`: an array, whose commas are part of the value. */
const array = map(sequence<[string, string, string]>(literal('{'), run(noneOf('{}'), 0), literal('}')), (parts) =>
  parts.join(''),
)

const condition = map(
  sequence<[Field, unknown, Pick<Filter, 'negated' | 'operation'>]>(
    field,
    delimiter,
    test(choice(quotedElement, attempt(array), plainElement)),
  ),
  ([field, , test]): LogicTree => ({ kind: 'filter', filter: { field, ...test } }),
)

const negation = label(
  choice<boolean>(
    map(attempt(sequence(literal('not'), delimiter)), () => true),
    succeed(false),
  ),
  'negation operator (not)',
)

const operator = label(choice(attempt(literal('and')), literal('or')), 'logic operator (and, or)') as Parser<
  'and' | 'or'
>

const tree: Parser<LogicTree> = choice<LogicTree>(
  attempt(condition),
  nested(
    map(
      sequence<[boolean, 'and' | 'or', LogicTree[]]>(
        negation,
        operator,
        between(
          lexeme(symbol('(')),
          lexeme(symbol(')')),
          separatedBy1((input) => tree(input), lexeme(comma)),
        ),
      ),
      ([negated, operator, operands]) => ({ kind: 'logic', negated, operator, operands }),
    ),
  ),
)

/**
 * Parses a logic parameter: `and=(a.eq.1,or(b.is.null,not.and(…)))`, `clients.not.or=(…)`.
 * @throws PGRST100
 */
export function parseLogic(key: string, text: string): AtPath<LogicTree> {
  const { path, value: operator } = parseLogicPath(key)
  return { path, value: parse(tree, 'logic tree', text, operator + text) }
}
