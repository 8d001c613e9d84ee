import { useState, type ReactNode } from 'react'

import { objectIn, propertiesOf } from '../data/arguments.ts'
import { Button } from './button.tsx'
import { JsonView } from './json-view.tsx'

interface ArgumentsProps {
  readonly value: unknown
  /** The tool's parameters. Without them, each argument has its own name as its label. */
  readonly schema?: unknown
}

/** The arguments of a call: a row for each, or all of them as JSON. */
export function Arguments({ value, schema }: ArgumentsProps): ReactNode {
  const [isJson, setJson] = useState(false)
  const given = objectIn(value)
  if (!given) return <JsonView value={value} />
  const rows = propertiesOf(schema, given).filter(({ name }) => name in given)
  if (rows.length === 0) return <p className="quiet">No arguments</p>
  return (
    <div className="arguments">
      {isJson ? (
        <JsonView value={value} />
      ) : (
        <div className="argument-rows" role="group" aria-label="Arguments" tabIndex={0}>
          <dl>
            {rows.map(({ name, title, description }) => (
              <div key={name}>
                <dt title={description ?? name}>{title}</dt>
                <dd>{shown(given[name])}</dd>
              </div>
            ))}
          </dl>
        </div>
      )}
      <Button look="quiet" className="small" aria-pressed={isJson} onClick={() => setJson(!isJson)}>
        JSON
      </Button>
    </div>
  )
}

/** Lists and objects are shown as JSON: on one line if that is short. */
function shown(value: unknown): ReactNode {
  if (value === '') return <span className="quiet">empty</span>
  if (typeof value !== 'object' || value === null) return String(value)
  const line = JSON.stringify(value)
  return <code>{line.length > 60 ? JSON.stringify(value, null, 2) : line}</code>
}
