import {
  buildSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isScalarType,
  isUnionType,
  type GraphQLField,
  type GraphQLNamedType,
} from 'graphql'

/** The API reference as Markdown, made from the printed schema: every operation and type with its description. */
export function describeSchema(printed: string): string {
  const schema = buildSchema(printed)
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
  const others = Object.values(schema.getTypeMap()).filter(
    (type) => !type.name.startsWith('__') && !roots.some((root) => root === type) && !isBuiltIn(type),
  )
  const named = (title: string, is: (type: GraphQLNamedType) => boolean) => {
    const types = others.filter(is)
    return types.length === 0 ? [] : [`## ${title}`, ...types.flatMap(describeType)]
  }
  return [
    '# API reference',
    'Made from `schema.graphql`, which the server also serves at `/schema.graphql`.',
    ...roots.flatMap((root) =>
      root ? [`## ${root.name}`, ...Object.values(root.getFields()).flatMap(describeOperation)] : [],
    ),
    ...named('Objects', isObjectType),
    ...named('Interfaces', isInterfaceType),
    ...named('Unions', isUnionType),
    ...named('Inputs', isInputObjectType),
    ...named('Enums', isEnumType),
    ...named('Scalars', isScalarType),
  ].join('\n\n')
}

function isBuiltIn(type: GraphQLNamedType): boolean {
  return ['String', 'Int', 'Float', 'Boolean', 'ID'].includes(type.name)
}

function describeOperation(field: GraphQLField<unknown, unknown>): string[] {
  return [
    `### ${field.name}`,
    field.description ?? '',
    `Returns \`${String(field.type)}\`.`,
    field.args.length > 0 ? listOf(field.args) : '',
  ].filter(Boolean)
}

function describeType(type: GraphQLNamedType): string[] {
  const heading = [`### ${type.name}`, type.description ?? '']
  if (isUnionType(type)) {
    return [
      ...heading,
      `One of ${type
        .getTypes()
        .map(({ name }) => `\`${name}\``)
        .join(', ')}.`,
    ]
  }
  if (isEnumType(type)) return [...heading, listOf(type.getValues())]
  if (isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)) {
    return [...heading, listOf(Object.values(type.getFields()))]
  }
  return heading
}

interface Member {
  readonly name: string
  readonly description?: string | null | undefined
  readonly type?: unknown
}

function listOf(members: readonly Member[]): string {
  return members
    .map(({ name, description, type }) => {
      const ofType = type ? `: ${String(type)}` : ''
      return `- \`${name}${ofType}\` ${(description ?? '').replaceAll(/\s+/g, ' ')}`
    })
    .join('\n')
}
