import { useEffect, useRef, useState } from 'react'

import type { TypedDocument } from '../../client/typed-document.ts'
import { useClient } from '../../react/client-context.ts'
import { useConnection } from '../../react/use-connection.ts'

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
  more(): void
  /** Changes what is shown, for live updates. */
  change(change: Change<Node>): void
}

/** A list that is loaded page by page. It starts over when its variables change. */
export function usePages<Data, Variables extends object, Node extends { readonly id: string }>(
  document: TypedDocument<Data, Variables>,
  variables: Omit<Variables, 'after'>,
  pick: (data: Data) => Connection<Node>,
): Pages<Node> {
  const client = useClient()
  const key = JSON.stringify(variables)
  const [state, setState] = useState<{
    key?: string
    nodes?: readonly Node[]
    totalCount?: number
    end?: string | null
    error?: Error
  }>({})
  const turn = useRef(0)
  /** What changed while a page was on its way, which may be older than that. */
  const missed = useRef<Change<Node>[]>([])

  async function load(after: string | undefined): Promise<void> {
    const mine = ++turn.current
    missed.current = []
    try {
      const { nodes, totalCount, pageInfo } = pick(
        await client.request(document, { ...variables, after } as unknown as Variables),
      )
      if (mine !== turn.current) return
      const changes = missed.current
      setState((before) => ({
        key,
        nodes: changes.reduce(
          (all, change) => change(all),
          after === undefined ? nodes : withMore(before.nodes ?? [], nodes),
        ),
        ...(totalCount !== undefined && { totalCount }),
        end: pageInfo.hasNextPage ? pageInfo.endCursor : null,
      }))
    } catch (error) {
      if (mine === turn.current) setState((before) => ({ ...before, error: error as Error }))
    }
  }

  useEffect(() => {
    void load(undefined)
  }, [client, document, key])

  // What failed because the server was away is asked for again when it is back.
  const status = useConnection()
  useEffect(() => {
    if (status === 'CONNECTED' && state.error) void load(undefined)
  }, [status])

  return {
    nodes: state.nodes,
    isCurrent: state.key === key,
    totalCount: state.totalCount,
    hasMore: state.end != null,
    error: state.error,
    more: () => void load(state.end ?? undefined),
    change(change) {
      missed.current.push(change)
      setState((before) => (before.nodes ? { ...before, nodes: change(before.nodes) } : before))
    },
  }
}

/** A live update may have added some of them already, before what comes between. */
function withMore<Node extends { readonly id: string }>(known: readonly Node[], more: readonly Node[]): Node[] {
  const ids = new Set(more.map(({ id }) => id))
  return [...known.filter(({ id }) => !ids.has(id)), ...more]
}
