import { useEffect, useRef, useState } from 'react'

import type { TypedDocument } from '../../client/typed-document.ts'
import { useClient } from '../../react/client-context.ts'

interface Connection<Node> {
  readonly nodes: readonly Node[]
  readonly totalCount?: number
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

export interface Pages<Node> {
  /** Undefined until the first page has arrived. */
  readonly nodes: readonly Node[] | undefined
  readonly totalCount: number | undefined
  readonly hasMore: boolean
  readonly error: Error | undefined
  more(): void
  reload(): void
  /** Changes what is shown, for live updates. */
  change(change: (nodes: readonly Node[]) => readonly Node[]): void
}

/** A list that is loaded page by page. It starts over when its variables change. */
export function usePages<Data, Variables extends object, Node>(
  document: TypedDocument<Data, Variables>,
  variables: Omit<Variables, 'after'>,
  pick: (data: Data) => Connection<Node>,
): Pages<Node> {
  const client = useClient()
  const key = JSON.stringify(variables)
  const [state, setState] = useState<{
    nodes?: readonly Node[]
    totalCount?: number
    end?: string | null
    error?: Error
  }>({})
  const [round, setRound] = useState(0)
  const turn = useRef(0)

  async function load(after: string | undefined): Promise<void> {
    const mine = ++turn.current
    try {
      const { nodes, totalCount, pageInfo } = pick(
        await client.request(document, { ...variables, after } as unknown as Variables),
      )
      if (mine !== turn.current) return
      setState((before) => ({
        nodes: after === undefined ? nodes : [...(before.nodes ?? []), ...nodes],
        ...(totalCount !== undefined && { totalCount }),
        end: pageInfo.hasNextPage ? pageInfo.endCursor : null,
      }))
    } catch (error) {
      if (mine === turn.current) setState((before) => ({ ...before, error: error as Error }))
    }
  }

  useEffect(() => {
    void load(undefined)
  }, [client, document, key, round])

  return {
    nodes: state.nodes,
    totalCount: state.totalCount,
    hasMore: state.end != null,
    error: state.error,
    more: () => void load(state.end ?? undefined),
    reload: () => setRound((before) => before + 1),
    change: (change) => setState((before) => (before.nodes ? { ...before, nodes: change(before.nodes) } : before)),
  }
}
