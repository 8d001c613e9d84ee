import type { ReactNode } from 'react'

import { count } from '../data/format.ts'
import type { RequestPart } from '../data/request-parts.ts'

/** The parts of a request's context. */
export function RequestBar({ parts }: { readonly parts: readonly RequestPart[] }): ReactNode {
  const total = parts.reduce((sum, { size }) => sum + size, 0)
  const classOf = ({ kind }: RequestPart): string => `part-${kind === 'settings' ? 'summary' : kind}`
  return (
    <div className="tokens">
      <h4>What the context was made of</h4>
      <div className="token-bar" aria-hidden="true">
        {parts.map((part, index) => (
          <span key={index} className={classOf(part)} style={{ width: `${(100 * part.size) / total}%` }} />
        ))}
      </div>
      <ul aria-label="Parts of the request, in characters">
        {parts.map((part, index) => (
          <li key={index}>
            <i className={classOf(part)} aria-hidden="true" /> {part.label} <span>{count(part.size)} characters</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
