// What options say about findings of `check`, and those of `doctor`: their levels, and which are accepted.

/** Where the list of findings that a project accepts is looked for if no other file is given. */
export const defaultIgnoreFile = '.rowhouse/check.json'

/** From harmless to dangerous. */
export const levels = ['INFO', 'WARN', 'ERROR'] as const
export type Level = (typeof levels)[number]

export const isAtLeast = (level: Level, threshold: Level): boolean => levels.indexOf(level) >= levels.indexOf(threshold)
