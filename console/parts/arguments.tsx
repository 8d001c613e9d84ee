import type { ReactNode } from 'react'

import { objectIn, propertiesOf } from '../data/arguments.ts'
import { Folded } from './folded.tsx'
import { JsonView } from './json-view.tsx'

interface ArgumentsProps {
  readonly value: unknown
  /** The tool's parameters. Without them, each argument has its own name as its label. */
  readonly schema?: unknown
}

/** The arguments of a call: a row for each, and all of them as JSON on request. */
export function Arguments({ value, schema }: ArgumentsProps): ReactNode {
  const given = objectIn(value)
  if (!given) return <JsonView value={value} />
  const rows = propertiesOf(schema, given).filter(({ name }) => name in given)
  if (rows.length === 0) return <p className="quiet">No arguments</p>
  return (
    <div className="arguments" role="group" aria-label="Arguments" tabIndex={0}>
      <dl>
        {rows.map(({ name, title, description, value: one }) => (
          <div key={name}>
            <dt title={description ?? name}>{title}</dt>
            <dd>{typeof one === 'string' ? one || '(empty)' : jsonOf(one)}</dd>
          </div>
        ))}
      </dl>
      <Folded summary="JSON">
        <JsonView value={value} />
      </Folded>
    </div>
  )
}

/** On one line if that is short. */
function jsonOf(value: unknown): string {
  const line = JSON.stringify(value)
  return line.length > 60 ? JSON.stringify(value, null, 2) : line
}
