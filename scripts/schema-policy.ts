import {
  findBreakingChanges,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  type GraphQLNamedType,
  type GraphQLSchema,
} from 'graphql'

interface Policy {
  readonly current: GraphQLSchema
  /** Undefined before the first release. */
  readonly released: GraphQLSchema | undefined
  readonly changelog: string
}

/** What docs/compatibility.md promises and the schema breaks. Each text says what to do. */
export function findSchemaProblems({ current, released, changelog }: Policy): string[] {
  return [...undatedDeprecations(current), ...(released ? unnamedChanges(released, current, changelog) : [])]
}

/** The changelog of the next version is its first chapter. */
function unnamedChanges(released: GraphQLSchema, current: GraphQLSchema, changelog: string): string[] {
  const next = oneLine(/^## [^]*?(?=^## |(?![^]))/m.exec(changelog)?.[0] ?? '')
  return findBreakingChanges(released, current)
    .map(({ description }) => description.replace(/\.$/, ''))
    .filter((change) => !next.includes(oneLine(change)))
    .map(
      (change) =>
        `Breaking change since the last release: ${change}. Undo it, or name it in the first chapter of CHANGELOG.md in exactly these words.`,
    )
}

/** Without what Markdown adds: marks of code, and line breaks. */
function oneLine(text: string): string {
  return text.replaceAll('`', '').replaceAll(/\s+/g, ' ')
}

function undatedDeprecations(schema: GraphQLSchema): string[] {
  return Object.values(schema.getTypeMap())
    .filter(({ name }) => !name.startsWith('__'))
    .flatMap(deprecationsOf)
    .filter(({ reason }) => !/Deprecated since \d{4}-\d\d-\d\d\b/.test(reason))
    .map(({ name }) => `${name} is deprecated without a date: end its reason with "Deprecated since 2026-01-31."`)
}

interface Deprecation {
  readonly name: string
  readonly reason: string
}

interface Deprecable {
  readonly name: string
  readonly deprecationReason?: string | null | undefined
}

function deprecationsOf(type: GraphQLNamedType): Deprecation[] {
  const deprecated = (path: string, { name, deprecationReason: reason }: Deprecable): Deprecation[] =>
    typeof reason === 'string' ? [{ name: `${path}.${name}`, reason }] : []
  if (isEnumType(type)) return type.getValues().flatMap((value) => deprecated(type.name, value))
  if (isInputObjectType(type)) return Object.values(type.getFields()).flatMap((field) => deprecated(type.name, field))
  if (!isObjectType(type) && !isInterfaceType(type)) return []
  return Object.values(type.getFields()).flatMap((field) => [
    ...deprecated(type.name, field),
    ...field.args.flatMap((arg) => deprecated(`${type.name}.${field.name}`, arg)),
  ])
}
