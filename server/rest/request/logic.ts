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
import { failed, parse } from './parser.ts'
import type { Parser, TrailingText } from './parser.ts'
import { withHint, type Hints } from './hint.ts'

/** `{1,2}`: an array, whose commas are part of the value. */
const array = map(sequence<[string, string, string]>(literal('{'), run(noneOf('{}'), 0), literal('}')), (parts) =>
  parts.join(''),
)

/** The operator and the value of a condition in a tree. */
export const elementTest = test(choice(quotedElement, attempt(array), plainElement))

const anyCondition = map(
  sequence<[Field, unknown, Pick<Filter, 'negated' | 'operation'>]>(field, delimiter, elementTest),
  ([field, , test]): LogicTree => ({ kind: 'filter', filter: { field, ...test } }),
)

const plainField = /[A-Za-z0-9_$]+(?=\.)/y

/** Fast path for plain names of fields, which are unambiguous before the dot of an operator. */
const condition: Parser<LogicTree> = (input) => {
  const { at } = input
  plainField.lastIndex = at
  const name = plainField.exec(input.text)?.[0]
  if (name === undefined || input.isTraced(at + name.length + 1)) return anyCondition(input)
  input.at += name.length + 1
  const test = elementTest(input)
  if (test !== failed) return { kind: 'filter', filter: { field: { name, jsonPath: [] }, ...test } }
  input.at = at
  return anyCondition(input)
}

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

/** A condition, or conditions joined by `and(…)` and `or(…)`. */
export function treeOf<F>(condition: Parser<LogicTree<F>>): Parser<LogicTree<F>> {
  const tree: Parser<LogicTree<F>> = choice<LogicTree<F>>(
    attempt(condition),
    nested(
      map(
        sequence<[boolean, 'and' | 'or', LogicTree<F>[]]>(
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
  return tree
}

const tree = treeOf(condition)

/**
 * Parses a logic parameter: `and=(a.eq.1,or(b.is.null,not.and(…)))`, `clients.not.or=(…)`.
 * @throws PGRST100
 */
export function parseLogic(key: string, text: string, trailing: TrailingText, hints: Hints): AtPath<LogicTree> {
  const { path, value: operator } = parseLogicPath(key, 'ignored')
  const value = withHint([text], hints, () => parse(tree, 'logic tree', text, trailing, operator + text))
  // Afterwards, since PostgREST reports an error in the tree.
  if (trailing === 'rejected') parseLogicPath(key, trailing)
  return { path, value }
}
