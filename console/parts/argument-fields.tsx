import type { ReactNode } from 'react'

import { objectIn, propertiesOf } from '../data/arguments.ts'
import { pretty } from '../data/format.ts'
import { Check } from './check.tsx'
import { Field } from './field.tsx'

interface ArgumentFieldsProps {
  /** The arguments as JSON, which may be unfinished. */
  readonly text: string
  readonly schema: unknown
  readonly onChange: (text: string) => void
}

/** The arguments as fields, by the tool's schema. What has no simple type is only in the JSON. */
export function ArgumentFields({ text, schema, onChange }: ArgumentFieldsProps): ReactNode {
  const given = objectIn(parsed(text))
  if (!given) return <p className="quiet">The fields are back as soon as the JSON is complete.</p>
  return propertiesOf(schema, given).map(({ name, title: label, description: hint, type, choices, ...rest }) => {
    const { value, isRequired } = rest
    const set = (next: unknown): void => {
      const { [name]: _before, ...others } = given
      onChange(pretty(next === null && !isRequired ? others : { ...given, [name]: next }))
    }
    const shown = { label, hint, value: choices ? JSON.stringify(value) : ((value ?? '') as string) }
    if (choices) {
      return (
        <Field key={name} {...shown} as="select" onChange={({ target }) => set(JSON.parse(target.value))}>
          {[null, ...choices].map((choice) => (
            <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
              {choice === null ? '' : typeof choice === 'string' ? choice : JSON.stringify(choice)}
            </option>
          ))}
        </Field>
      )
    }
    if (value !== null && typeof value !== type) return null
    if (type === 'boolean')
      return <Check key={name} label={label} checked={value === true} onChange={({ target }) => set(target.checked)} />
    if (type === 'number') {
      const change = (entered: string): void => set(entered === '' ? null : Number(entered))
      return <Field key={name} {...shown} type="number" step="any" onChange={({ target }) => change(target.value)} />
    }
    if (type !== 'string') return null
    const change = (entered: string): void => set(entered || (isRequired ? '' : null))
    return <Field key={name} {...shown} as="textarea" rows={1} onChange={({ target }) => change(target.value)} />
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
