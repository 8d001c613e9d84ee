import { useDeferredValue, useRef, useState } from 'react'

import { ChosenTools, ToolOptions as ToolOptionsQuery, type ToolOption } from './documents.ts'
import { usePages, type Pages } from './use-pages.ts'
import { useQuery } from './use-query.ts'

/** The tools that an agent can be given. */
export interface ToolOptions {
  readonly search: string
  setSearch(text: string): void
  readonly pages: Pages<ToolOption>
  /** Those that are found, own ones first. Without a search, they begin with chosen ones of later pages. */
  readonly shown: readonly ToolOption[] | undefined
  /** All that have been seen, by their ids. They include the chosen ones. */
  readonly known: ReadonlyMap<string, ToolOption>
}

/** The most that the server returns by their ids. */
const mostIds = 100

/** Searches the tools. `chosen` are ids, and `given` those that are known already. */
export function useToolOptions(chosen: readonly string[], given: readonly ToolOption[]): ToolOptions {
  const [search, setSearch] = useState('')
  const nameContains = useDeferredValue(search.trim())
  const filter = nameContains ? { nameContains } : null
  const pages = usePages(ToolOptionsQuery, { first: 100, filter }, ({ tools }) => tools)
  const known = useRef(new Map(given.map((tool) => [tool.id, tool]))).current
  const { data } = useQuery(ChosenTools, missing(chosen, known, pages.nodes))
  for (const tool of [...(pages.nodes ?? []), ...(data?.nodes.filter(isTool) ?? [])]) known.set(tool.id, tool)
  const found = pages.nodes?.toSorted((one, other) => Number(one.kind === 'BUILTIN') - Number(other.kind === 'BUILTIN'))
  const others = chosen.flatMap((id) => (found?.some((tool) => tool.id === id) ? [] : (known.get(id) ?? [])))
  return { search, setSearch, pages, shown: filter ? found : found && [...others, ...found], known }
}

const isTool = (node: object | null): node is ToolOption => node !== null && 'id' in node

/** The ids of a form that was kept over a reload, of tools that are not on the first page. */
function missing(
  chosen: readonly string[],
  known: ReadonlyMap<string, ToolOption>,
  nodes: readonly ToolOption[] | undefined,
): { ids: string[] } | null {
  const ids = chosen.filter((id) => !known.has(id) && !nodes?.some((tool) => tool.id === id))
  return nodes && ids.length > 0 ? { ids: ids.slice(0, mostIds) } : null
}
