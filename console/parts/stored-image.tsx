import { useEffect, useState, type ReactNode } from 'react'

import { loadFile, type StoredFileFields } from '../data/stored-file.ts'
import { StoredFile } from './stored-file.tsx'

/** An image that the server stores, with a button to save it. */
export function StoredImage({ file }: { readonly file: StoredFileFields }): ReactNode {
  const [source, setSource] = useState<string>()
  const [hasFailed, setFailed] = useState(false)
  useEffect(() => {
    const abort = new AbortController()
    let made: string | undefined
    loadFile(file.url, abort.signal).then(
      (blob) => {
        if (!abort.signal.aborted) setSource((made = URL.createObjectURL(blob)))
      },
      () => !abort.signal.aborted && setFailed(true),
    )
    return () => {
      abort.abort()
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [file.url])
  return (
    <figure className="stored-image">
      {source !== undefined && <img src={source} alt={file.name ?? 'Image'} />}
      {source === undefined && !hasFailed && <div className="image-place" role="status" aria-label="Loading" />}
      <figcaption>
        <StoredFile file={file} />
      </figcaption>
    </figure>
  )
}
