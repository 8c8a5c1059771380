// Settings that functions of the database set for the response.

/** The value of a setting, or null if it is unset. A setting that an earlier transaction has set locally is empty. */
const currentSetting = (name: string): string => `nullif(current_setting('${name}', true), '')`

export const responseHeaders = currentSetting('response.headers')
export const responseStatus = currentSetting('response.status')

/** Returns headers and status, in one row: what functions have set up to then. */
export const settingsStatement = {
  text: `SELECT ${responseHeaders}, ${responseStatus}`,
  values: [],
  hasNoEffect: true,
  isOfRows: true,
} as const

/** The number of rows that an upsert created: incremented for each row of the body, decremented for each update. */
export const insertedCount = `nullif(current_setting('pgrst.inserted', true),'')::int`

/** A condition that is always true, and increments the number of created rows for each row. */
export const countInserted = `set_config('pgrst.inserted', (coalesce(${currentSetting('pgrst.inserted')}::int, 0) + 1)::text, true) <> '0'`

/** A condition that is always true, and decrements the number of created rows for each row. */
export const countUpdated = `set_config('pgrst.inserted', (coalesce(${currentSetting('pgrst.inserted')}::int, 0) - 1)::text, true) <> '-1'`
