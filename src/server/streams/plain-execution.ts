import {
  defaultFieldResolver,
  getNamedType,
  getNullableType,
  getOperationAST,
  isAbstractType,
  isLeafType,
  isNonNullType,
  isObjectType,
  Kind,
  type ExecutionArgs,
  type ExecutionResult,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type SelectionSetNode,
} from 'graphql'

/** Undefined if graphql-js has to execute the event. */
export type ExecutePlain = (event: unknown) => ExecutionResult | undefined

interface PlainExtensions {
  /** On a subscription: its value is the event itself. On an object type: every field is read from the event alone. */
  readonly plain?: boolean
}

interface Plan {
  readonly root: string
  readonly fields: readonly PlannedField[]
}

interface PlannedField {
  readonly key: string
  readonly required: boolean
  read(event: unknown): unknown
}

/**
 * Executes events of `plain` types, whose fields are all scalars that are read from the event alone. There is one such
 * event for every few words of every model, and graphql-js takes several times as long for one as reading its fields
 * does. The fields of an operation are worked out once per type.
 */
export function preparePlainExecution(args: ExecutionArgs): ExecutePlain {
  const root = rootOf(args)
  if (!root) return () => undefined
  /** By the name of the event's type. Null if graphql-js has to execute events of the type. */
  const plans = new Map<string, Plan | null>()
  const declared = getNamedType(root.field.type)
  const typeNameOf = isAbstractType(declared)
    ? (event: unknown) => declared.resolveType?.(event, args.contextValue, noInfo, declared)
    : () => declared.name

  return (event) => {
    const name = typeNameOf(event)
    if (typeof name !== 'string') return undefined
    let plan = plans.get(name)
    if (plan === undefined) plans.set(name, (plan = makePlan(args, root.node, name) ?? null))
    try {
      return plan ? run(plan, event) : undefined
    } catch {
      // graphql-js fails too, and reports the failure properly.
      return undefined
    }
  }
}

function run({ root, fields }: Plan, event: unknown): ExecutionResult | undefined {
  const data: Record<string, unknown> = {}
  for (const { key, required, read } of fields) {
    const value = read(event)
    if (value === null && required) return undefined
    data[key] = value
  }
  return { data: { [root]: data } }
}

function rootOf({ schema, document, operationName }: ExecutionArgs) {
  const selections = getOperationAST(document, operationName)?.selectionSet.selections
  const node = selections?.[0]
  if (selections?.length !== 1 || node?.kind !== Kind.FIELD || hasDirectives(node)) return undefined
  const field = schema.getSubscriptionType()?.getFields()[node.name.value]
  return field && (field.extensions as PlainExtensions).plain ? { node, field } : undefined
}

function makePlan(args: ExecutionArgs, root: FieldNode, typeName: string): Plan | undefined {
  const type = args.schema.getType(typeName)
  if (!isObjectType(type) || !(type.extensions as PlainExtensions).plain) return undefined
  const fields = new Map<string, PlannedField>()
  const fragments = new Map(
    args.document.definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  )
  if (!root.selectionSet || !collect(root.selectionSet, { args, type, fields, fragments })) return undefined
  return { root: (root.alias ?? root.name).value, fields: [...fields.values()] }
}

interface Collecting {
  readonly args: ExecutionArgs
  readonly type: GraphQLObjectType
  readonly fields: Map<string, PlannedField>
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
}

/** False if the selection contains something that a plan cannot express. */
function collect(selectionSet: SelectionSetNode, into: Collecting): boolean {
  return selectionSet.selections.every((selection) => {
    if (hasDirectives(selection)) return false
    if (selection.kind === Kind.FIELD) {
      const key = (selection.alias ?? selection.name).value
      const field = into.type.getFields()[selection.name.value]
      const planned = selection.name.value === '__typename' ? typename(key, into.type) : field && planField(key, field)
      if (planned && !into.fields.has(key)) into.fields.set(key, planned)
      return planned !== undefined
    }
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? into.fragments.get(selection.name.value) : selection
    if (!fragment || hasDirectives(fragment)) return false
    return !applies(fragment.typeCondition?.name.value, into) || collect(fragment.selectionSet, into)
  })
}

function applies(condition: string | undefined, { args: { schema }, type }: Collecting): boolean {
  if (condition === undefined || condition === type.name) return true
  const named = schema.getType(condition)
  return isAbstractType(named) && schema.isSubType(named, type)
}

function typename(key: string, { name }: GraphQLObjectType): PlannedField {
  return { key, required: true, read: () => name }
}

function planField(key: string, field: GraphQLField<unknown, unknown>): PlannedField | undefined {
  const leaf = getNullableType(field.type)
  if (!isLeafType(leaf) || field.args.length > 0) return undefined
  const resolve = field.resolve ?? defaultFieldResolver
  const info = { fieldName: field.name } as GraphQLResolveInfo
  return {
    key,
    required: isNonNullType(field.type),
    read(event) {
      const value = resolve(event, {}, undefined, info)
      return value === null || value === undefined ? null : leaf.serialize(value)
    },
  }
}

function hasDirectives(node: { readonly directives?: readonly unknown[] }): boolean {
  return node.directives !== undefined && node.directives.length > 0
}

/** Our `resolveType` functions look at the event alone. */
const noInfo = {} as GraphQLResolveInfo
