import {
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  print,
  stripIgnoredCharacters,
  typeFromAST,
  validate,
  visit,
  type DefinitionNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type GraphQLType,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'

const scalars: Readonly<Record<string, string>> = {
  ID: 'string',
  String: 'string',
  Int: 'number',
  Float: 'number',
  Boolean: 'boolean',
  DateTime: 'string',
  EventCursor: 'string',
  JSON: 'unknown',
}

/** TypeScript for every enum and input type of the schema. Documents import their variables from here. */
export function printSchemaTypes(schema: GraphQLSchema): string {
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
  const enums = types.filter(isEnumType).map(
    (type) =>
      `export type ${type.name} = ${type
        .getValues()
        .map(({ name }) => `'${name}'`)
        .join(' | ')}`,
  )
  const inputs = types.filter(isInputObjectType).map((type) => {
    const fields = Object.values(type.getFields())
    if (type.isOneOf) {
      const members = fields.map(({ name, type: of }) => `{ readonly ${name}: ${inputType(of)} }`)
      return `export type ${type.name} = ${members.join(' | ')}`
    }
    const lines = fields.map((field) => {
      const isOptional = !isNonNullType(field.type) || field.defaultValue !== undefined
      const type = inputType(field.type)
      const absent = isNonNullType(field.type) ? ' | undefined' : ' | null | undefined'
      return `  readonly ${field.name}${isOptional ? '?' : ''}: ${type}${isOptional && type !== 'unknown' ? absent : ''}`
    })
    return `export interface ${type.name} {\n${lines.join('\n')}\n}`
  })
  return `${banner}\n${[...enums, ...inputs].join('\n\n')}\n`
}

const banner = '// Generated from schema.graphql by `npm run schema`. Do not edit.\n'

function inputType(type: GraphQLType): string {
  if (isNonNullType(type)) return inputType(type.ofType)
  if (isListType(type)) {
    const item = inputType(type.ofType)
    return `readonly ${item.includes(' ') ? `(${item})` : item}[]`
  }
  return scalars[type.name] ?? type.name
}

/**
 * TypeScript for a file of GraphQL documents: the type of each fragment, and for each operation its text with the types
 * of its result and variables. The types of shared fragments are imported from the file that has them.
 */
export function printDocuments(
  schema: GraphQLSchema,
  source: string,
  options: {
    readonly schemaTypes: string
    readonly typedDocument: string
    readonly shared?: { readonly source: string; readonly from: string }
  },
): string {
  const own = parse(source).definitions.map(nameOf)
  const document = parse(`${options.shared?.source ?? ''}\n${source}`)
  const problems = validate(schema, document).filter(({ message }) => !/^Fragment ".*" is never used/.test(message))
  if (problems.length > 0) throw new Error(problems.map(String).join('\n\n'))

  const fragments = fragmentsOf(document)
  const printer = createTypePrinter(schema, fragments)
  const body = document.definitions
    .filter((one) => own.includes(nameOf(one)))
    .map((one) =>
      one.kind === Kind.FRAGMENT_DEFINITION
        ? `export type ${one.name.value} = ${printer.fragment(one)}`
        : printer.operation(one as OperationDefinitionNode),
    )
    .join('\n\n')
  // The texts of the operations name types too, but do not use them.
  const types = body.replaceAll(/^export const .*$/gm, '')
  const importOf = (names: readonly string[], from: string | undefined): string[] => {
    const used = names.filter((name) => new RegExp(`\\b${name}\\b(?!')`).test(types))
    return used.length > 0 ? [`import type { ${used.join(', ')} } from '${from}'`] : []
  }
  const inputs = Object.values(schema.getTypeMap()).filter((type) => isEnumType(type) || isInputObjectType(type))
  return [
    banner,
    ...importOf(
      [...fragments.keys()].filter((name) => !own.includes(name)),
      options.shared?.from,
    ),
    ...importOf(
      inputs.map(({ name }) => name),
      options.schemaTypes,
    ),
    `import type { TypedDocument } from '${options.typedDocument}'\n`,
    `${body}\n`,
  ].join('\n')
}

/** TypeScript with the texts of the operations of each file, by the name of their list. */
export function printTexts(lists: Readonly<Record<string, { source: string; shared?: string }>>): string {
  const parts = Object.entries(lists).map(([name, { source, shared }]) => {
    const document = parse(`${shared ?? ''}\n${source}`)
    const fragments = fragmentsOf(document)
    const own = new Set(parse(source).definitions.map(nameOf))
    const operations = document.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION)
    const texts = operations.filter((one) => own.has(nameOf(one))).map((one) => textOf(one, fragments))
    return `export const ${name}: readonly string[] = ${JSON.stringify(texts)}`
  })
  return `${banner}\n${parts.join('\n\n')}\n`
}

/** The names of all fragments that these definitions spread, directly or through others. */
function neededFragments(
  definitions: readonly DefinitionNode[],
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): ReadonlySet<string> {
  const needed = new Set<string>()
  const need = (node: DefinitionNode): void =>
    void visit(node, {
      FragmentSpread({ name: { value } }) {
        if (needed.has(value)) return
        needed.add(value)
        need(fragments.get(value)!)
      },
    })
  for (const definition of definitions) need(definition)
  return needed
}

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

function fragmentsOf(document: DocumentNode): Fragments {
  return new Map(
    document.definitions.flatMap((one) => (one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one]] : [])),
  )
}

function nameOf(one: DefinitionNode): string {
  return (one as OperationDefinitionNode).name?.value ?? ''
}

/** The operation with the fragments it needs, as one line. */
function textOf(definition: OperationDefinitionNode, fragments: Fragments): string {
  const needed = neededFragments([definition], fragments)
  return stripIgnoredCharacters([definition, ...[...needed].map((name) => fragments.get(name)!)].map(print).join('\n'))
}

interface TypePrinter {
  fragment(definition: FragmentDefinitionNode): string
  operation(definition: OperationDefinitionNode): string
}

function createTypePrinter(schema: GraphQLSchema, fragments: ReadonlyMap<string, FragmentDefinitionNode>): TypePrinter {
  type Collected = Map<string, FieldNode[]>

  function collect(type: GraphQLObjectType, sets: readonly SelectionSetNode[], into: Collected): Collected {
    for (const set of sets) {
      for (const selection of set.selections) {
        if (selection.kind === Kind.FIELD) {
          const key = selection.alias?.value ?? selection.name.value
          into.set(key, [...(into.get(key) ?? []), selection])
          continue
        }
        const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)!
        const condition = fragment.typeCondition && schema.getType(fragment.typeCondition.name.value)
        const applies =
          !condition || condition === type || (isAbstractType(condition) && schema.isSubType(condition, type))
        if (applies) collect(type, [fragment.selectionSet], into)
      }
    }
    return into
  }

  function objectType(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): { typename: boolean; body: string } {
    const fields = collect(type, sets, new Map())
    const lines: string[] = []
    for (const [key, nodes] of fields) {
      if (key === '__typename') continue
      const field = type.getFields()[nodes[0]!.name.value]!
      const inner = nodes.flatMap((node) => (node.selectionSet ? [node.selectionSet] : []))
      lines.push(`readonly ${key}: ${outputType(field.type, inner)}`)
    }
    return { typename: fields.has('__typename'), body: lines.join('; ') }
  }

  function selectionType(type: GraphQLNamedType, sets: readonly SelectionSetNode[]): string {
    const only = sets.length === 1 && sets[0]!.selections.length === 1 ? sets[0]!.selections[0]! : undefined
    if (only?.kind === Kind.FRAGMENT_SPREAD && fragments.get(only.name.value)!.typeCondition.name.value === type.name)
      return only.name.value
    const possible = isAbstractType(type) ? schema.getPossibleTypes(type) : isObjectType(type) ? [type] : []
    const byBody = Map.groupBy(possible, (one) => JSON.stringify(objectType(one, sets)))
    const members = [...byBody].map(([key, types]) => {
      const { typename, body } = JSON.parse(key) as { typename: boolean; body: string }
      const name = typename ? `readonly __typename: ${types.map((one) => `'${one.name}'`).join(' | ')}` : ''
      return `{ ${[name, body].filter(Boolean).join('; ')} }`
    })
    return members.join(' | ')
  }

  function outputType(type: GraphQLOutputType, sets: readonly SelectionSetNode[], nullable = true): string {
    if (isNonNullType(type)) return outputType(type.ofType, sets, false)
    const text = isListType(type)
      ? `readonly (${outputType(type.ofType, sets)})[]`
      : (scalars[type.name] ?? (isEnumType(type) ? type.name : selectionType(getNamedType(type), sets)))
    return nullable && text !== 'unknown' ? `${text} | null` : text
  }

  return {
    fragment: (definition) =>
      selectionType(schema.getType(definition.typeCondition.name.value)!, [definition.selectionSet]),
    operation(definition) {
      const name = definition.name!.value
      const root = schema.getRootType(definition.operation)!
      const variables = (definition.variableDefinitions ?? []).map((variable) => {
        const type = typeFromAST(schema, variable.type as never)! as GraphQLType
        const optional = !isNonNullType(type) || variable.defaultValue !== undefined
        return `readonly ${variable.variable.name.value}${optional ? '?' : ''}: ${inputType(type)}${optional ? ' | null | undefined' : ''}`
      })
      return [
        `export type ${name}Data = ${selectionType(root, [definition.selectionSet])}`,
        `export type ${name}Variables = ${variables.length > 0 ? `{ ${variables.join('; ')} }` : 'Record<string, never>'}`,
        `export const ${name} = ${JSON.stringify(textOf(definition, fragments))} as TypedDocument<${name}Data, ${name}Variables>`,
      ].join('\n')
    },
  }
}
