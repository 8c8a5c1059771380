// Receives the only value of a statement that runs before the rows of a streamed response.
import type { RowReceiver } from '../../row-transfer.ts'

export class FirstField implements RowReceiver {
  readonly namesOf = undefined
  hasBegun = false
  value: string | null = null

  names(): void {
    // Only asked for by `namesOf`.
  }

  columns(): boolean {
    return true
  }

  row(buffer: Buffer, start: number): boolean {
    const [lengthAt, from] = [start + 2, start + 6]
    const length = buffer.readInt32BE(lengthAt)
    if (!this.hasBegun && length >= 0) this.value = buffer.toString('utf8', from, from + length)
    this.hasBegun = true
    return true
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
