import { useEffect, useState } from 'react'

import type { TypedDocument } from '../../client/typed-document.ts'
import { useClient } from '../../react/client-context.ts'
import type { QueryState } from './use-query.ts'
import { useReturns } from './use-returns.ts'

/**
 * The answer to a query that is asked once, when a form opens. A form must not begin with what someone was told a
 * moment ago, since saving it would undo what was changed meanwhile. Null variables ask for nothing.
 */
export function useOnce<Data, Variables>(
  document: TypedDocument<Data, Variables>,
  variables: Variables | null,
): QueryState<Data> {
  const client = useClient()
  const returns = useReturns()
  const [state, setState] = useState<QueryState<Data>>({ data: undefined, error: undefined })
  const key = JSON.stringify(variables)
  const isNeeded = variables !== null && state.data === undefined
  useEffect(() => {
    if (!isNeeded) return undefined
    let isGone = false
    client.request(document, variables).then(
      (data) => !isGone && setState({ data, error: undefined }),
      (error: unknown) => !isGone && setState({ data: undefined, error: error as Error }),
    )
    return () => {
      isGone = true
    }
  }, [client, document, key, isNeeded, returns])
  return state
}
