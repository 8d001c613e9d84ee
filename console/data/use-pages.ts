import { useEffect, useRef, useState } from 'react'

import type { Client } from '../../client/client.ts'
import type { TypedDocument } from '../../client/typed-document.ts'
import { useClient } from '../../react/client-context.ts'
import { show } from './use-query.ts'
import { useReturns } from './use-returns.ts'

interface Connection<Node> {
  readonly nodes: readonly Node[]
  readonly totalCount?: number
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

type Change<Node> = (nodes: readonly Node[]) => readonly Node[]

export interface Pages<Node> {
  /** Undefined until the first page has arrived. */
  readonly nodes: readonly Node[] | undefined
  /** Whether the nodes belong to the current variables. The old ones stay visible until the new ones have arrived. */
  readonly isCurrent: boolean
  readonly totalCount: number | undefined
  readonly hasMore: boolean
  readonly error: Error | undefined
  readonly isLoading: boolean
  more(): void
  /** Asks again for what is shown. */
  reload(): Promise<void>
  /** Changes what is shown, for live updates. */
  change(change: Change<Node>): void
}

interface State<Node> {
  readonly key?: string
  readonly nodes?: readonly Node[]
  readonly totalCount?: number
  readonly end?: string | null | undefined
  readonly error?: Error
}

/** The lists that were shown last. A page that is opened again begins with all the rows that it had. */
const lastShown = new WeakMap<Client, Map<string, State<unknown>>>()
const mostKept = 30

/**
 * A list that is loaded page by page. It starts over when its variables change. With another `revision`, by `refresh`
 * and after a lost connection, what is shown is asked for again. Null variables ask for nothing yet.
 */
export function usePages<Data, Variables extends object, Node extends { readonly id: string }>(
  document: TypedDocument<Data, Variables>,
  variables: (Omit<Variables, 'after'> & { readonly first: number }) | null,
  pick: (data: Data) => Connection<Node>,
  revision?: string | number,
): Pages<Node> {
  const client = useClient()
  const key = JSON.stringify(variables)
  const known = lastShown.get(client) ?? new Map<string, State<unknown>>()
  lastShown.set(client, known)
  const [state, setState] = useState<State<Node>>(() => (known.get(document + key) ?? {}) as State<Node>)
  useEffect(() => {
    if (state.key === undefined) return
    known.delete(document + state.key)
    known.set(document + state.key, state)
    if (known.size > mostKept) known.delete(known.keys().next().value!)
  }, [state])
  const [isLoading, setLoading] = useState(false)
  const turn = useRef(0)
  /** What changed while a page was on its way, which may be older than that. */
  const missed = useRef<Change<Node>[]>([])

  /** Loads the page after a cursor. Without one, as many nodes as are shown, or the first page. */
  async function load(after?: string): Promise<void> {
    if (variables === null) return
    const mine = ++turn.current
    missed.current = []
    setLoading(true)
    const shown = state.key === key && after === undefined ? (state.nodes?.length ?? 0) : 0
    const loaded: Node[] = []
    let end: string | null | undefined = after
    let totalCount: number | undefined
    try {
      do {
        const first = Math.min(Math.max(variables.first, shown - loaded.length), mostPerPage)
        const page = pick(await client.request(document, { ...variables, first, after: end } as unknown as Variables))
        loaded.push(...page.nodes)
        totalCount = page.totalCount
        end = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
      } while (end !== null && loaded.length < shown)
      if (mine !== turn.current) return
      const changes = missed.current
      setState((before) => ({
        key,
        nodes: changes.reduce<readonly Node[]>(
          (all, change) => change(all),
          after === undefined ? loaded : withMore(before.nodes ?? [], loaded),
        ),
        ...(totalCount !== undefined && { totalCount }),
        end,
      }))
    } catch (error) {
      if (mine === turn.current) setState((before) => ({ ...before, error: error as Error }))
    }
    if (mine === turn.current) setLoading(false)
  }

  const returns = useReturns()
  useEffect(() => {
    void load()
  }, [client, document, key, revision, returns])
  const latest = useRef(load)
  latest.current = load
  useEffect(() => show(client, { document, refetch: () => latest.current() }), [client, document])

  return {
    nodes: state.nodes,
    isCurrent: state.key === key,
    totalCount: state.totalCount,
    hasMore: state.end != null,
    error: state.error,
    isLoading,
    more: () => void load(state.end ?? undefined),
    reload: () => load(),
    change(change) {
      missed.current.push(change)
      setState((before) => (before.nodes ? { ...before, nodes: change(before.nodes) } : before))
    },
  }
}

/** The server's limit. */
const mostPerPage = 200

/** A live update may have added some of them already, before what comes between. */
function withMore<Node extends { readonly id: string }>(known: readonly Node[], more: readonly Node[]): Node[] {
  const ids = new Set(more.map(({ id }) => id))
  return [...known.filter(({ id }) => !ids.has(id)), ...more]
}
