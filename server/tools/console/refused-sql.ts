// Which statements the console refuses: those that would end its transaction, and those that need rows or files of a client.
import type { SqlStatement } from '../../text/sql-statements.ts'

/** Why a statement is refused; undefined if it is not. */
export function refusalOf({ words }: SqlStatement): string | undefined {
  const [first = '', second = ''] = words
  if (isTransactionCommand(first, second, words)) {
    return `${commandName(first, second)} is refused: the console runs all statements in one transaction, and ends it as you choose. Savepoints are allowed.`
  }
  if (first === 'copy') return 'COPY is refused: it needs the rows or files of a client. Use `rowhouse psql` for it.'
  return undefined
}

function isTransactionCommand(first: string, second: string, words: readonly string[]): boolean {
  switch (first) {
    case 'begin':
    case 'commit':
    case 'end':
    case 'abort':
      return true
    case 'start':
    case 'prepare':
      return second === 'transaction'
    case 'rollback':
      return second === 'prepared' || !words.includes('to')
    default:
      return false
  }
}

const commandName = (first: string, second: string): string =>
  (['start', 'prepare'].includes(first) || second === 'prepared' ? `${first} ${second}` : first).toUpperCase()
