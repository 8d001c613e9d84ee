import type { ReactNode } from 'react'

import { bytes } from '../data/format.ts'
import type { Uploads } from '../data/use-uploads.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'

/** The files that the next message will have. */
export function UploadList({ uploads }: { readonly uploads: Uploads }): ReactNode {
  if (uploads.list.length === 0) return null
  return (
    <ul className="uploads" aria-label="Attached files">
      {uploads.list.map(({ key, name, size, fileId, problem }) => (
        <li key={key} aria-busy={fileId === undefined && problem === undefined ? true : undefined}>
          <Icon name="file" />
          <span className="file-name">{name}</span>
          {problem === undefined ? (
            <span className="quiet">{fileId === undefined ? 'Uploading…' : bytes(size)}</span>
          ) : (
            <span role="alert" className="field-problem">
              {problem}
            </span>
          )}
          <Button
            look="quiet"
            icon="close"
            className="small"
            aria-label={`Remove ${name}`}
            onClick={() => uploads.remove(key)}
          />
        </li>
      ))}
    </ul>
  )
}
