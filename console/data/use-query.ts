import { useEffect, useRef, useSyncExternalStore } from 'react'

import type { Client } from '../../client/client.ts'
import type { TypedDocument } from '../../client/typed-document.ts'
import { useClient } from '../../react/client-context.ts'
import { createStore, shareStore, type Store } from '../../react/store.ts'
import { useReturns } from './use-returns.ts'

export interface QueryState<Data> {
  readonly data: Data | undefined
  readonly error: Error | undefined
}

export interface Query<Data> extends QueryState<Data> {
  /** Queries again. The old result stays visible meanwhile. */
  refetch(): Promise<void>
}

type QueryStore<Data> = Store<QueryState<Data>> & Shown

interface Shown {
  readonly document: string
  refetch(): Promise<void>
}

const active = new WeakMap<Client, Set<Shown>>()

/** Makes `refresh` ask again for this result, until the returned function is called. */
export function show(client: Client, shown: Shown): () => void {
  const all = active.get(client) ?? new Set()
  active.set(client, all.add(shown))
  return () => void all.delete(shown)
}

function createQueryStore<Data, Variables>(
  client: Client,
  document: TypedDocument<Data, Variables>,
  variables: Variables,
  forget: () => void,
): QueryStore<Data> {
  let state: QueryState<Data> = { data: undefined, error: undefined }
  let changed: () => void = () => {}
  let underWay: { readonly end: Promise<void>; readonly returns: number } | undefined
  let next: Promise<void> | undefined

  async function ask(): Promise<void> {
    const { returns } = client.connection
    const answer = await client.request(document, variables).then(
      (data) => ({ data, error: undefined }),
      (error: unknown) => ({ data: state.data, error: error instanceof Error ? error : new Error(String(error)) }),
    )
    if (returns !== client.connection.returns) return
    state = answer
    underWay = undefined
    changed()
  }

  /**
   * One request at a time. Whoever asks meanwhile shares the one that follows, since this one may be too old. One from
   * before a lost connection may never be answered, so nobody waits for it.
   */
  function refetch(): Promise<void> {
    const { returns } = client.connection
    if (underWay?.returns === returns) return (next ??= underWay.end.then(refetch))
    next = undefined
    underWay = { end: ask(), returns }
    return underWay.end
  }

  const store: QueryStore<Data> = {
    document,
    refetch,
    ...createStore(
      (announce) => {
        changed = announce
        const hide = show(client, store)
        void refetch()
        const again = (): void => void refetch()
        addEventListener('focus', again)
        return () => {
          removeEventListener('focus', again)
          hide()
          forget()
        }
      },
      () => state,
    ),
  }
  return store
}

const nothing: QueryState<never> = { data: undefined, error: undefined }
const idle: Store<QueryState<never>> & { refetch(): Promise<void> } = {
  getState: () => nothing,
  subscribe: () => () => {},
  refetch: () => Promise.resolve(),
}

/**
 * The result of a query, shared by everyone who asks for the same. Null variables ask for nothing yet. A new `revision`
 * and a connection that comes back ask again.
 */
export function useQuery<Data, Variables>(
  document: TypedDocument<Data, Variables>,
  variables: Variables | null,
  revision?: string | number,
): Query<Data> {
  const client = useClient()
  const store: Store<QueryState<Data>> & { refetch(): Promise<void> } =
    variables === null
      ? idle
      : shareStore(client, `${document} ${JSON.stringify(variables)}`, (forget) =>
          createQueryStore(client, document, variables, forget),
        )
  const state = useSyncExternalStore(store.subscribe, store.getState)
  const returns = useReturns()
  const asked = useRef<object>(undefined)
  useEffect(() => {
    // A store that is new asks by itself. One that was left a moment ago still has what it knew then.
    if (asked.current === store || store.getState().data !== undefined) void store.refetch()
    asked.current = store
  }, [store, revision, returns])
  // While a search or a filter changes, the last result stays visible.
  const last = useRef<Data | undefined>(undefined)
  if (state.data !== undefined) last.current = state.data
  return { ...state, data: state.data ?? (variables === null ? undefined : last.current), refetch: store.refetch }
}

/** Asks again for every visible result of these queries. Call it after a mutation that changed them. */
export function refresh(client: Client, ...documents: readonly string[]): void {
  for (const store of active.get(client) ?? []) if (documents.includes(store.document)) void store.refetch()
}
