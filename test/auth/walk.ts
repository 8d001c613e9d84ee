import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
} from 'graphql'

import { schema } from '../../src/graphql/schema.ts'

/** Executes a document as the viewer who walks, with or without a transport. */
export type Ask = (
  document: string,
  variables?: Record<string, unknown>,
) => Promise<{ readonly data?: any; readonly errors?: readonly unknown[] }>

const node = schema.getType('Node')!
const isNode = (type: GraphQLNamedType): boolean =>
  (isObjectType(type) || isInterfaceType(type)) && (type === node || type.getInterfaces().includes(node as never))

/** Every type with an id that is not an interface. */
export const nodeTypes = Object.values(schema.getTypeMap()).filter(
  (type): type is GraphQLObjectType => isObjectType(type) && isNode(type),
)

/** All fields of a type that need no argument. Of other nodes only the ids. */
function selectionOf(type: GraphQLNamedType, path: readonly string[] = []): string {
  if (isLeafType(type)) return ''
  if (isNode(type) && path.length > 0) return '{ __typename id }'
  if (!isObjectType(type)) {
    const types = schema.getPossibleTypes(type as never).map((one) => `... on ${one.name} ${selectionOf(one, path)}`)
    return `{ __typename ${types.join(' ')} }`
  }
  if (path.includes(type.name)) return '{ __typename }'
  const fields = Object.values(type.getFields()).filter(({ args }) => !args.some(isRequiredArgument))
  const within = [...path, type.name]
  return `{ __typename ${fields.map((field) => `${field.name} ${selectionOf(getNamedType(field.type), within)}`).join(' ')} }`
}

/**
 * Everything that a viewer sees of the node with this id, with the ids of its neighbours. If a field is refused, each
 * is queried separately, so that it hides nothing else. Null if there is no such node.
 */
export async function showNode(ask: Ask, id: string): Promise<any> {
  const show = (selection: string) => ask(`query ($id: ID!) { node(id: $id) ${selection} }`, { id })
  const { data } = await show('{ __typename id }')
  if (!data?.node) return null
  const type = schema.getType(data.node.__typename) as GraphQLObjectType
  const fields = Object.values(type.getFields())
    .filter(({ args }) => !args.some(isRequiredArgument))
    .map((field) => `${field.name} ${selectionOf(getNamedType(field.type), [type.name])}`)
  const showFields = (selected: string) => show(`{ ... on ${type.name} { ${selected} } }`)
  const together = await showFields(fields.join(' '))
  if (!together.errors?.length) return { ...data.node, answers: [together] }
  const answers: unknown[] = []
  for (const field of fields) answers.push(await showFields(field))
  return { ...data.node, answers }
}

/** A field that is called with one value. */
export interface Question {
  readonly type: string
  readonly value: unknown
  /** The selection, with the variable of the value. */
  readonly call: (variable: string) => string
}

/** A call of a mutation with an input. */
export const callOf =
  (field: GraphQLField<unknown, unknown>) =>
  (value: unknown): Question => ({
    type: String(field.args[0]!.type),
    value,
    call: (variable) => `${field.name}(input: ${variable}) { __typename }`,
  })

/** Below the limit of aliases. */
const together = 25

/**
 * The answer to each question, many by one operation. An error that names no field may be about any of the questions:
 * then each half is asked again.
 */
export async function askAll(
  ask: Ask,
  operation: 'query' | 'mutation',
  questions: readonly Question[],
): Promise<{ readonly data: any; readonly errors: readonly any[] }[]> {
  if (questions.length > together) {
    const first = await askAll(ask, operation, questions.slice(0, together))
    return [...first, ...(await askAll(ask, operation, questions.slice(together)))]
  }
  const variables = questions.map(({ type }, index) => `$v${index}: ${type}`)
  const fields = questions.map(({ call }, index) => `a${index}: ${call(`$v${index}`)}`)
  const values = Object.fromEntries(questions.map(({ value }, index) => [`v${index}`, value]))
  const { data, errors = [] } = await ask(`${operation} (${variables.join()}) { ${fields.join(' ')} }`, values)
  const half = Math.ceil(questions.length / 2)
  if (half < questions.length && (errors as any[]).some(({ path }) => !path))
    return [
      ...(await askAll(ask, operation, questions.slice(0, half))),
      ...(await askAll(ask, operation, questions.slice(half))),
    ]
  return questions.map((_, index) => ({
    data: data?.[`a${index}`],
    errors: (errors as any[]).filter(({ path }) => !path || path[0] === `a${index}`),
  }))
}

export interface Walk {
  /** The ids of all nodes that were found, by type. */
  readonly ids: ReadonlyMap<string, ReadonlySet<string>>
  /** All answers, as text. */
  readonly text: string
}

const idPattern =
  /"((?:agent|agenttool|key|block|conv|mcp|msg|run|group|step|tool|call|worker|audit|file|schedule|budget|webhook|delivery|passage)_[0-9a-f]{32}(?:_\d+)?)"/g

/**
 * Executes all queries that need no argument, and then queries every node that an answer names, until no new ones are
 * named.
 */
export async function walk(ask: Ask): Promise<Walk> {
  const ids = new Map<string, Set<string>>()
  const asked = new Set<string>()
  const texts: string[] = []
  const waiting: string[] = []
  const take = (answer: unknown): void => {
    const text = JSON.stringify(answer)
    texts.push(text)
    for (const [, id] of text.matchAll(idPattern)) if (!asked.has(id!)) waiting.push(id!)
  }
  for (const field of Object.values(schema.getQueryType()!.getFields())) {
    if (!field.args.some(isRequiredArgument)) take(await showField(ask, field))
  }
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (asked.has(id)) continue
    asked.add(id)
    const shown = await showNode(ask, id)
    if (shown === null) continue
    take(shown)
    ids.set(shown.__typename, (ids.get(shown.__typename) ?? new Set()).add(id))
  }
  return { ids, text: texts.join('\n') }
}

function showField(ask: Ask, field: GraphQLField<unknown, unknown>): ReturnType<Ask> {
  return ask(`{ ${field.name} ${selectionOf(getNamedType(field.type), ['Query'])} }`)
}

/**
 * Values for an argument with this id at every place where an id is possible, and otherwise only what is required.
 * Several values if one of several fields must be given, and one more for each optional input with ids in it.
 */
export function inputsWith(id: string, type: GraphQLInputType): unknown[] {
  if (isNonNullType(type)) return inputsWith(id, type.ofType)
  if (isListType(type)) return inputsWith(id, type.ofType).map((value) => [value])
  if (isEnumType(type)) return [type.getValues()[0]!.name]
  if (!isInputObjectType(type)) return [leafValues[type.name] ?? (type.name === 'ID' ? id : 'text')]
  const fields = Object.values(type.getFields())
  if (type.isOneOf) {
    return fields.flatMap(({ name, type: inner }) => inputsWith(id, inner).map((value) => ({ [name]: value })))
  }
  const isGiven = (field: GraphQLInputField) => isNonNullType(field.type) || getNamedType(field.type).name === 'ID'
  const inputs = fields
    .filter(isGiven)
    .reduce<object[]>(
      (all, { name, type: inner }) =>
        all.flatMap((input) => inputsWith(id, inner).map((value) => ({ ...input, [name]: value }))),
      [{}],
    )
  const optional = fields.filter((field) => !isGiven(field) && holdsIds(field.type))
  const more = optional.flatMap(({ name, type: inner }) =>
    inputsWith(id, inner).map((value) => ({ ...inputs[0], [name]: value })),
  )
  return [...inputs, ...more]
}

/** Whether an input has an id in it, at any depth. */
function holdsIds(type: GraphQLInputType): boolean {
  const named = getNamedType(type)
  if (!isInputObjectType(named)) return named.name === 'ID'
  return Object.values(named.getFields()).some((field) => holdsIds(field.type))
}

const leafValues: Readonly<Record<string, unknown>> = {
  Int: 1,
  Float: 1,
  Boolean: true,
  JSON: { type: 'object' },
  DateTime: '2020-01-01T00:00:00Z',
}
