/**
 * An actor's `id` is unique only together with its `kind`, and its `name` is the one it had at the time. So a cache
 * must not merge actors that have the same `id`: each is a part of the object that names it.
 */

/** For Apollo's InMemoryCache. */
export const typePolicies = { Actor: { keyFields: false as const } }

/** For Graphcache, beside the keys of types without an `id`. */
export const keys = { Actor: () => null }

/** For Relay's Environment. */
export const getDataID = ({ id }: { readonly id?: string }, type: string) => (type === 'Actor' ? undefined : id)
