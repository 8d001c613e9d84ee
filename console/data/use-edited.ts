import { useEffect, useState, type Dispatch, type SetStateAction } from 'react'
import { useSearchParams } from 'wouter'

/** What a page shows in its form. An address that ends in `?new` opens the form of a new object. */
export function useEdited<Row = never>(): [
  edited: Row | 'new' | undefined,
  setEdited: Dispatch<SetStateAction<Row | 'new' | undefined>>,
] {
  const [search, setSearch] = useSearchParams()
  const [edited, setEdited] = useState<Row | 'new'>()
  const isAsked = search.has('new')
  useEffect(() => {
    if (!isAsked) return
    setEdited('new')
    setSearch({}, { replace: true })
  }, [isAsked])
  return [edited, setEdited]
}
