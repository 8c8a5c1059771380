// Domain representations: casts between a domain and json or text.
// https://docs.postgrest.org/en/stable/references/api/domain_representations.html

/** A user-defined cast, applied as a function call: `function(value)`. All three are SQL-quoted names. */
export type Representation = {
  readonly sourceType: string
  readonly targetType: string
  readonly function: string
}

/** Representations by `representationKey(source type, target type)`. */
export type Representations = ReadonlyMap<string, Representation>

export const representationKey = (sourceType: string, targetType: string): string => `${sourceType}\0${targetType}`
