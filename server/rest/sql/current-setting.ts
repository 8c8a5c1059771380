// Settings that functions of the database hand back.

/** The setting's value, or null: once set locally, a setting reads as an empty string in later transactions. */
export const currentSetting = (name: string): string => `nullif(current_setting('${name}', true), '')`

export const responseHeaders = currentSetting('response.headers')
export const responseStatus = currentSetting('response.status')

/** Rows that an upsert created: counted up for each row of the body, counted down for each that is updated instead. */
export const insertedCount = `nullif(current_setting('pgrst.inserted', true),'')::int`

/** A condition that is always true and, once per row, adds to the count of created rows. */
export const countInserted = `set_config('pgrst.inserted', (coalesce(${currentSetting('pgrst.inserted')}::int, 0) + 1)::text, true) <> '0'`

/** The same, taking away. */
export const countUpdated = `set_config('pgrst.inserted', (coalesce(${currentSetting('pgrst.inserted')}::int, 0) - 1)::text, true) <> '-1'`
