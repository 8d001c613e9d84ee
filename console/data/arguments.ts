export interface Property {
  readonly name: string
  readonly title: string
  readonly description: string | undefined
  /** The first type that is not `null`. Without a schema, that of the value. */
  readonly type: string
  /** The values to choose from, if the schema lists them. */
  readonly choices: readonly unknown[] | undefined
  /** An optional one is left out when it is emptied. */
  readonly isRequired: boolean
}

type JsonObject = Readonly<Record<string, unknown>>

/** The object in a JSON text. Undefined for anything else, and while the text is unfinished. */
export function parsedObject(text: string): JsonObject | undefined {
  try {
    return objectIn(JSON.parse(text))
  } catch {
    return undefined
  }
}

export function objectIn(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

/** What was given, as the model wrote it, and then the other properties of the tool's parameters. */
export function propertiesOf(schema: unknown, given: JsonObject): Property[] {
  const parameters = objectIn(schema)
  const known = objectIn(parameters?.['properties']) ?? {}
  const required = Array.isArray(parameters?.['required']) ? (parameters['required'] as unknown[]) : []
  return [...new Set([...Object.keys(given), ...Object.keys(known)])].map((name) => {
    const { title, description, type, enum: choices } = objectIn(known[name]) ?? {}
    const types = [type ?? typeof given[name]].flat()
    return {
      name,
      title: typeof title === 'string' ? title : name,
      description: typeof description === 'string' ? description : undefined,
      type: String(types.find((one) => one !== 'null')),
      choices: Array.isArray(choices) ? choices : undefined,
      isRequired: !(name in known) || required.includes(name),
    }
  })
}
