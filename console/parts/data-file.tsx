import type { ReactNode } from 'react'

import { blobOf, saveBlob } from '../data/stored-file.ts'
import { Button } from './button.tsx'

/** A small document that is part of the message itself. Pressing it saves the document. */
export function DataFile({ url }: { readonly url: string }): ReactNode {
  const type = /^data:([^;,]+)/.exec(url)?.[1] ?? 'document'
  return (
    <Button
      icon="file"
      className="small"
      aria-label={`Download ${type}`}
      onClick={() => saveBlob(blobOf(url), 'document')}
    >
      {type}
    </Button>
  )
}
