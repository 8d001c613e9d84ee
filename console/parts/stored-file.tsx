import type { ReactNode } from 'react'

import { bytes } from '../data/format.ts'
import { loadFile, saveBlob, type StoredFileFields } from '../data/stored-file.ts'
import { useAction } from '../data/use-action.ts'
import { Button } from './button.tsx'

/** A file that the server stores. Pressing it saves the file. */
export function StoredFile({ file }: { readonly file: StoredFileFields }): ReactNode {
  const name = file.name ?? file.mediaType
  const save = useAction(async () => saveBlob(await loadFile(file.url), file.name ?? 'file'))
  return (
    <span className="stored-file">
      <Button
        icon="file"
        className="small"
        aria-label={`Download ${name}`}
        isBusy={save.isBusy}
        onClick={() => save.run()}
      >
        <span className="file-name">{name}</span> <span className="quiet">{bytes(file.sizeBytes)}</span>
      </Button>
      {save.problem && <span className="field-problem">{save.problem}</span>}
    </span>
  )
}
