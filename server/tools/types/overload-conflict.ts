// Functions that cannot be called as their names promise: their result is a type that names the reason.
import type { TypedArgument, TypedFunction } from './catalogue.ts'

/** A function with what a client passes to it. */
export type Callable = TypedFunction & {
  /** All arguments by name, those of the result included. */
  readonly arguments: readonly TypedArgument[]
  /** The arguments that a client passes, by name. */
  readonly inputs: readonly TypedArgument[]
  /** The relation or composite type that the result has rows of. */
  readonly rowName: string | null
}

/** Whether the argument is a row of a relation or a composite type. */
export const isRowArgument = ({ relation }: TypedArgument): boolean => relation !== null && !relation.isForeign

/** Why a call fails, or null. The texts are those of Supabase's generator. */
export function conflictOf(callable: Callable, overloads: readonly Callable[]): string | null {
  return ambiguity(callable, overloads) ?? lackingRow(callable)
}

function ambiguity(callable: Callable, overloads: readonly Callable[]): string | null {
  const { schema, name, inputs } = callable
  const full = `${schema}.${name}`
  const others = overloads.filter((other) => other !== callable)
  const [only, ...more] = inputs
  if (only === undefined) {
    const optional = others.find(
      (other) => other.inputs.length === 1 && other.inputs[0]?.name === '' && other.inputs[0].hasDefault,
    )
    return optional ? couldNotChoose([`${full}()`, `${full}( => ${optional.returns.typeName})`]) : null
  }
  if (only.name === '' || more.length > 0) return null
  const rivals = others.flatMap((other): TypedArgument[] => {
    const [first, ...rest] = other.inputs
    return first && rest.length === 0 && first.name === only.name && first.typeOid !== only.typeOid ? [first] : []
  })
  if (rivals.length === 0) return null
  return couldNotChoose(
    [only, ...rivals]
      .sort((a, b) => a.typeOid - b.typeOid)
      .map((argument) => `${full}(${argument.name} => ${argument.typeName})`),
  )
}

const couldNotChoose = (candidates: readonly string[]): string =>
  `Could not choose the best candidate function between: ${candidates.join(', ')}. Try renaming the parameters or the ` +
  'function itself in the database so function overloading can be resolved'

/** A function that takes an unnamed row computes a field of that row. Clients can call it only for other rows. */
function lackingRow({ schema, name, inputs, rowName }: Callable): string | null {
  const [only, ...more] = inputs
  if (only?.name !== '' || more.length > 0 || !isRowArgument(only) || rowName !== null) return null
  return (
    `the function ${schema}.${name} with parameter or with a single unnamed json/jsonb parameter, ` +
    'but no matches were found in the schema cache'
  )
}
