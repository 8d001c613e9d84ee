import type { ReactNode } from 'react'

import type { ConversationContextData } from '../data/documents.ts'
import { count } from '../data/format.ts'

type Tokens = NonNullable<ConversationContextData['conversation']>['context']['tokens']

const parts = [
  ['instructions', 'Instructions'],
  ['blocks', 'Memory'],
  ['tools', 'Tools'],
  ['summary', 'Summary'],
  ['messages', 'Messages'],
] as const

/** What the model's window is filled with. Above 90 % the conversation is compacted. */
export function TokenBar({ tokens }: { readonly tokens: Tokens }): ReactNode {
  const share = (value: number): string => `${((100 * value) / Math.max(tokens.window, tokens.total)).toFixed(2)}%`
  return (
    <div className="tokens">
      <div
        className="token-bar"
        role="meter"
        aria-label="Tokens in the context"
        aria-valuemin={0}
        aria-valuemax={tokens.window}
        aria-valuenow={tokens.total}
        aria-valuetext={`${count(tokens.total)} of ${count(tokens.window)} tokens`}
      >
        {parts.map(([name]) => (
          <span key={name} className={`part-${name}`} style={{ width: share(tokens[name]) }} />
        ))}
      </div>
      <p className="quiet">
        {count(tokens.total)} of {count(tokens.window)} tokens
      </p>
      <ul>
        {parts
          .filter(([name]) => tokens[name] > 0)
          .map(([name, label]) => (
            <li key={name}>
              <i className={`part-${name}`} aria-hidden="true" /> {label} <span>{count(tokens[name])}</span>
            </li>
          ))}
      </ul>
    </div>
  )
}
