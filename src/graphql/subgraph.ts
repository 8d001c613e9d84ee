import { getTypeBrand } from '@pothos/core'
import {
  type ConstDirectiveNode,
  type DocumentNode,
  extendSchema,
  type GraphQLSchema,
  isObjectType,
  isUnionType,
  Kind,
  parse,
  print,
  visit,
} from 'graphql'

import { requireScope } from '../auth/require-scope.ts'
import { badUserInput } from '../domain/errors.ts'
import { isJsonObject } from '../util/json.ts'
import type { Context } from './context.ts'
import { loadNode } from './node.ts'
import { printedSchema } from './printed-schema.ts'

/** The API as a subgraph of Apollo Federation. */
export interface Subgraph {
  /** With `_service` and `_entities`. */
  readonly schema: GraphQLSchema
  /** What composition reads. */
  readonly sdl: string
}

const maxRepresentations = 1_000

/**
 * Every type with an id of its own is an entity, found like `node` finds it. `@oneOf` is declared because Apollo's
 * composition doesn't know it. `node` and `nodes` are left out: a gateway would send every id of the whole graph here.
 * `shown` says whether clients may ask for the schema.
 */
export function createSubgraph(schema: GraphQLSchema, { shown }: { readonly shown: boolean }): Subgraph {
  const sdl = printedSubgraph(schema)
  const names = entityNames(schema)
  const extended = extendSchema(schema, parse(additions(names, shown)))
  const { _service: service, _entities: entities } = extended.getQueryType()?.getFields() ?? {}
  if (service) service.resolve = () => ({ sdl })
  const union = extended.getType('_Entity')
  if (isUnionType(union)) union.resolveType = (node) => getTypeBrand(node) as string
  if (entities) {
    entities.resolve = (_root, { representations }: Representations, context) => load(representations, names, context)
    entities.extensions = {
      complexity: ({ representations }: Representations) => ({
        field: 1,
        multiplier: Math.min(representations.length, maxRepresentations),
      }),
    }
  }
  return { schema: extended, sdl }
}

interface Representations {
  readonly representations: readonly unknown[]
}

function additions(entities: ReadonlySet<string>, shown: boolean): string {
  const service = `
    "What a gateway needs to know of this subgraph."
    type _Service {
      "The schema of the subgraph, as SDL."
      sdl: String!
    }
    extend type Query {
      "The schema, for gateways."
      _service: _Service!
    }`
  return `
    "A reference to an object: its \`__typename\` and its \`id\`."
    scalar _Any
    "Every type that other subgraphs can refer to."
    union _Entity = ${[...entities].join(' | ')}
    extend type Query {
      "The objects that other subgraphs refer to, for gateways, in the same order. Null where there is none."
      _entities(
        "References to objects. At most ${maxRepresentations}."
        representations: [_Any!]!
      ): [_Entity]!
    }
    ${shown ? service : ''}`
}

async function load(
  representations: readonly unknown[],
  entities: ReadonlySet<string>,
  context: Context,
): Promise<(object | null)[]> {
  requireScope(context.viewer, ['READ'], '`_entities`')
  if (representations.length > maxRepresentations) {
    const message = `There are ${representations.length} representations, and at most ${maxRepresentations} are allowed.`
    throw badUserInput('representations', message)
  }
  const references = representations.map((representation, index) => {
    const field = `representations.${index}`
    if (!isJsonObject(representation)) throw badUserInput(field, 'It must be an object with `__typename` and `id`.')
    const { __typename: name, id } = representation
    if (typeof name !== 'string' || !entities.has(name)) {
      const given = typeof name === 'string' ? `"${name}"` : 'It'
      throw badUserInput(`${field}.__typename`, `${given} is not an entity: it must be a type with an id, such as Run.`)
    }
    if (typeof id !== 'string') throw badUserInput(`${field}.id`, 'It must be a text: an id that the API returned.')
    return { name, id }
  })
  return Promise.all(
    references.map(async ({ name, id }) => {
      const node = await loadNode(context, id)
      return node && getTypeBrand(node) === name ? node : null
    }),
  )
}

export function printedSubgraph(schema: GraphQLSchema): string {
  const head = parse(`
    extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable"])
    directive @oneOf on INPUT_OBJECT`)
  const entities = entityNames(schema)
  const document: DocumentNode = visit(parse(printedSchema(schema)), {
    ObjectTypeDefinition(type) {
      const name = type.name.value
      if (entities.has(name)) return { ...type, directives: [directive('@key(fields: "id")')] }
      if (name === 'PageInfo') return { ...type, directives: [directive('@shareable')] }
      if (name !== 'Query') return undefined
      return { ...type, fields: (type.fields ?? []).filter((field) => !/^nodes?$/.test(field.name.value)) }
    },
  })
  return `${print({ kind: Kind.DOCUMENT, definitions: [...head.definitions, ...document.definitions] })}\n`
}

function directive(text: string): ConstDirectiveNode {
  const [type] = parse(`type Entity ${text}`, { noLocation: true }).definitions
  return (type as { directives: readonly ConstDirectiveNode[] }).directives[0]!
}

function entityNames(schema: GraphQLSchema): ReadonlySet<string> {
  const types = Object.values(schema.getTypeMap()).filter(isObjectType)
  const entities = types.filter((type) => type.getInterfaces().some(({ name }) => name === 'Node'))
  return new Set(entities.map(({ name }) => name))
}
