import {
  type DocumentNode,
  getIntrospectionQuery,
  getOperationAST,
  type GraphQLSchema,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
} from 'graphql'

/** What the introspection fields of an operation cost, and how much one operation may cost. */
export interface IntrospectionCost {
  readonly cost: number
  readonly limit: number
}

/** How many items an introspection list has. */
interface ListSizes {
  /** For the parts of all types, below `__schema.types`, this is the average. */
  readonly average: Readonly<Record<string, number>>
  /** Anywhere else the client chooses the type, so this is the largest number. */
  readonly largest: Readonly<Record<string, number>>
}

/**
 * Counts the fields that introspection would return. An operation may ask for twice as many as the full query of
 * GraphiQL and of code generators, whatever the size of the schema.
 */
export function introspectionCost(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  document: DocumentNode,
): IntrospectionCost {
  const { sizes, limit } = measureOnce(schema)
  return { cost: costOf(operation, document, sizes), limit }
}

const measured = new WeakMap<GraphQLSchema, { readonly sizes: ListSizes; readonly limit: number }>()

function measureOnce(schema: GraphQLSchema) {
  const known = measured.get(schema)
  if (known) return known
  const sizes = listSizes(schema)
  const result = { sizes, limit: 2 * costOfFullQuery(sizes) }
  measured.set(schema, result)
  return result
}

function costOfFullQuery(sizes: ListSizes): number {
  const query = getIntrospectionQuery({
    descriptions: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    schemaDescription: true,
    inputValueDeprecation: true,
    oneOf: true,
  })
  const document = parse(query)
  return costOf(getOperationAST(document)!, document, sizes)
}

/**
 * Fragments are counted once and remembered, because a few that spread each other twice would otherwise take
 * exponential time.
 */
function costOf(operation: OperationDefinitionNode, document: DocumentNode, sizes: ListSizes): number {
  const fragments = new Map(
    document.definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  )
  const remembered = new Map<SelectionSetNode, Map<keyof ListSizes | 'root', number>>()

  function costOfSet(set: SelectionSetNode, place: keyof ListSizes | 'root'): number {
    const known = remembered.get(set)?.get(place)
    if (known !== undefined) return known
    let cost = 0
    for (const selection of set.selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(selection.name.value)
        if (fragment) cost += costOfSet(fragment.selectionSet, place)
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        cost += costOfSet(selection.selectionSet, place)
      } else {
        cost += costOfField(selection.name.value, selection.selectionSet, place)
      }
    }
    remembered.set(set, (remembered.get(set) ?? new Map()).set(place, cost))
    return cost
  }

  function costOfField(name: string, set: SelectionSetNode | undefined, place: keyof ListSizes | 'root'): number {
    if (place === 'root') return set && /^__(schema|type)$/.test(name) ? 1 + costOfSet(set, 'largest') : 0
    if (!set) return 1
    return 1 + (sizes[place][name] ?? 1) * costOfSet(set, placeBelow(name, place))
  }

  return costOfSet(operation.selectionSet, 'root')
}

function placeBelow(name: string, place: keyof ListSizes): keyof ListSizes {
  if (name === 'types' || name === 'directives') return 'average'
  return ownParts.has(name) ? place : 'largest'
}

/** Parts of one type. Any other field leads to another type, which may be the largest. */
const ownParts: ReadonlySet<string> = new Set(['fields', 'inputFields', 'enumValues', 'args'])

function listSizes(schema: GraphQLSchema): ListSizes {
  const types = Object.values(schema.getTypeMap())
  const counts: Record<string, number[]> = {
    fields: types.map((type) =>
      isObjectType(type) || isInterfaceType(type) ? Object.keys(type.getFields()).length : 0,
    ),
    inputFields: types.map((type) => (isInputObjectType(type) ? Object.keys(type.getFields()).length : 0)),
    enumValues: types.map((type) => (isEnumType(type) ? type.getValues().length : 0)),
    interfaces: types.map((type) => (isObjectType(type) || isInterfaceType(type) ? type.getInterfaces().length : 0)),
    possibleTypes: types.map((type) => (isAbstractType(type) ? schema.getPossibleTypes(type).length : 0)),
    args: types.flatMap((type) =>
      isObjectType(type) ? Object.values(type.getFields()).map((field) => field.args.length) : [],
    ),
  }
  const whole = { types: types.length, directives: schema.getDirectives().length }
  const sizes = (measure: (numbers: number[]) => number) =>
    Object.fromEntries(Object.entries(counts).map(([name, numbers]) => [name, measure(numbers)]))
  return {
    average: { ...whole, ...sizes((numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length) },
    largest: { ...whole, ...sizes((numbers) => Math.max(0, ...numbers)) },
  }
}
