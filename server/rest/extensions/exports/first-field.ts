// Receives the only value of a statement that runs before the rows of a streamed response.
import type { RawRow, RowReceiver } from '../../database.ts'

export class FirstField implements RowReceiver {
  readonly namesOf = undefined
  hasBegun = false
  value: string | null = null

  begin([field]: RawRow): void {
    this.hasBegun = true
    this.value = field?.toString() ?? null
  }

  columns(): void {
    // Only asked for by `namesOf`.
  }

  row(): void {
    // `begin` has received the row.
  }

  flush(): void {
    // Nothing waits.
  }

  measureRate(): number {
    return Infinity
  }

  giveUp(): void {
    // There is no reader.
  }
}
