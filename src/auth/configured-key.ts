/** HOLDPOINT_API_KEY has no row in the database. This is its id and its name. */
export const configuredKeyId = 'HOLDPOINT_API_KEY'
