// Accounts as clients get them.

/**
 * An account without the members that are null, as `auth.user_object` gives it.
 *
 * @param record JSON text of `auth.user_record`: a null in metadata has a blank before it, and stays
 */
export const userObject = (record: string): string => record.replace(/,"[a-z_]+":null/g, '')
