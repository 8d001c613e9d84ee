type JsonObject = Readonly<Record<string, unknown>>

export function objectIn(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

/** What was given, as the model wrote it, and then the other properties of the tool's parameters. */
export function propertiesOf(schema: unknown, given: JsonObject) {
  const { properties, required } = objectIn(schema) ?? {}
  const known = objectIn(properties) ?? {}
  return [...new Set([...Object.keys(given), ...Object.keys(known)])].map((name) => {
    const { title, description, type, enum: choices } = objectIn(known[name]) ?? {}
    const value = given[name] ?? null
    const types: readonly unknown[] = [type ?? typeof value].flat()
    return {
      name,
      value,
      title: typeof title === 'string' ? title : name,
      description: typeof description === 'string' ? description : undefined,
      /** As of `typeof`. Without a schema, that of the value. */
      type: types.includes('integer') ? 'number' : types.find((one) => one !== 'null'),
      choices: Array.isArray(choices) ? (choices as readonly unknown[]) : undefined,
      /** Another one is left out when it is emptied. */
      isRequired: !(name in known) || (Array.isArray(required) && required.includes(name)),
    }
  })
}
