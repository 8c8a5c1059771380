// A setting that is not set, and should be.

export type MissingSetting = {
  readonly name: string
  /** What does not work without it, as part of a sentence. */
  readonly consequence: string
}

/** A line for the log. */
export const missingSettingText = ({ name, consequence }: MissingSetting): string =>
  `${name} is not set: ${consequence}`
