import { InvalidArgumentError } from 'commander'

/**
 * Reads the names of schemas of an option, which may be given several times.
 *
 * @param before the names of earlier options
 * @throws InvalidArgumentError for an empty name
 */
export function readSchemaNames(text: string, before: readonly string[] = []): readonly string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.includes('')) throw new InvalidArgumentError('Allowed are names separated by commas, such as public,api.')
  return [...new Set([...before, ...names])]
}
