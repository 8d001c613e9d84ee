import { builder } from './builder.ts'

/** An enum with a description for each value. `Value` lists the values that there must be. */
export function describedEnum<const Value extends string>(
  name: string,
  description: string,
  descriptions: Readonly<Record<Value, string>>,
) {
  const values = Object.entries<string>(descriptions).map(([value, ofValue]) => [value, { description: ofValue }])
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(values) as Record<Value, { readonly description: string }>,
  })
}

/** Descriptions that are only the name of something else: 'UserMessage.' */
export function sentencesOf<Value extends string>(names: Readonly<Record<Value, string>>): Record<Value, string> {
  const sentences = Object.entries<string>(names).map(([value, name]) => [value, `${name}.`])
  return Object.fromEntries(sentences) as Record<Value, string>
}
