import type { ReactNode } from 'react'

import { parsedObject, propertiesOf, type Property } from '../data/arguments.ts'
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
  const given = parsedObject(text)
  if (!given) return <p className="quiet">The fields are back as soon as the JSON is complete.</p>
  return propertiesOf(schema, given).map((property) => (
    <ArgumentField
      key={property.name}
      property={property}
      value={given[property.name]}
      onChange={(value) => {
        const { [property.name]: _before, ...others } = given
        const isLeftOut = value === null && !property.isRequired
        onChange(pretty(isLeftOut ? others : { ...given, [property.name]: value }))
      }}
    />
  ))
}

interface ArgumentFieldProps {
  readonly property: Property
  readonly value: unknown
  /** Null if the field is empty. */
  readonly onChange: (value: unknown) => void
}

function ArgumentField({ property, value, onChange }: ArgumentFieldProps): ReactNode {
  const { title, description, type, choices, isRequired } = property
  const label = { label: title, hint: description }
  if (choices) {
    const all = choices.includes(value) && isRequired ? choices : [null, ...choices]
    return (
      <Field
        {...label}
        as="select"
        value={JSON.stringify(value ?? null)}
        onChange={({ target }) => onChange(JSON.parse(target.value))}
      >
        {all.map((choice) => (
          <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
            {choice === null ? '' : String(choice)}
          </option>
        ))}
      </Field>
    )
  }
  const shownType = type === 'integer' ? 'number' : type
  if (value != null && typeof value !== shownType) return null
  if (shownType === 'boolean')
    return <Check {...label} checked={value === true} onChange={({ target }) => onChange(target.checked)} />
  if (shownType === 'number') {
    return (
      <Field
        {...label}
        type="number"
        step="any"
        value={(value as number | null | undefined) ?? ''}
        onChange={({ target }) => onChange(target.value === '' ? null : Number(target.value))}
      />
    )
  }
  if (shownType !== 'string') return null
  const text = (value as string | null | undefined) ?? ''
  return (
    <Field
      {...label}
      as="textarea"
      rows={Math.min(8, text.split('\n').length)}
      value={text}
      onChange={({ target }) => onChange(target.value || (isRequired ? '' : null))}
    />
  )
}
