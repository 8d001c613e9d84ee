import { readFile } from 'node:fs/promises'

import {
  introspectionFromSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  lexicographicSortSchema,
  printSchema,
  type GraphQLScalarType,
} from 'graphql'
import { describe, expect, it } from 'vitest'

import { schema } from '../../src/graphql/schema.ts'

/** Every schema coordinate of ours, with its description. */
function* coordinates(): Generator<[coordinate: string, description: string | null | undefined]> {
  for (const type of Object.values(schema.getTypeMap())) {
    if (type.name.startsWith('__') || ['ID', 'Int', 'Float', 'String', 'Boolean'].includes(type.name)) continue
    yield [type.name, type.description]
    if (isEnumType(type)) for (const value of type.getValues()) yield [`${type.name}.${value.name}`, value.description]
    if (isInputObjectType(type))
      for (const field of Object.values(type.getFields())) yield [`${type.name}.${field.name}`, field.description]
    if (isObjectType(type) || isInterfaceType(type)) {
      for (const field of Object.values(type.getFields())) {
        yield [`${type.name}.${field.name}`, field.description]
        for (const arg of field.args) yield [`${type.name}.${field.name}(${arg.name}:)`, arg.description]
      }
    }
  }
}

/** The type of each field. */
function shapeOf(name: string): Record<string, string> {
  const type = schema.getType(name)
  if (!isObjectType(type)) throw new Error(`${name} is not an object type`)
  return Object.fromEntries(Object.values(type.getFields()).map((field) => [field.name, String(field.type)]))
}

describe('the schema', () => {
  it('[SCH1] is what schema.graphql says', async () => {
    const stored = await readFile(new URL('../../schema.graphql', import.meta.url), 'utf8')
    expect(stored, 'run `npm run schema` and commit the result').toBe(
      `${printSchema(lexicographicSortSchema(schema))}\n`,
    )
  })

  it('[SCH2] describes every type, field, argument, input field and enum value', () => {
    const bare = [...coordinates()].filter(([, description]) => !description?.trim()).map(([coordinate]) => coordinate)
    expect(bare).toEqual([])
  })

  it('[SCH3] has nullable mutations with one input each, and every @oneOf of the contract', () => {
    for (const field of Object.values(schema.getMutationType()!.getFields())) {
      expect(String(field.type), field.name).not.toMatch(/!$/)
      expect(field.args.map((arg) => `${arg.name}: ${arg.type}`)).toEqual([
        `input: ${field.name.charAt(0).toUpperCase()}${field.name.slice(1)}Input!`,
      ])
    }
    const oneOf = Object.values(schema.getTypeMap()).filter((type) => isInputObjectType(type) && type.isOneOf)
    expect(oneOf.map((type) => type.name).toSorted()).toEqual([
      'ApprovalDecisionInput',
      'CancelRunInput',
      'ContentPartInput',
      'SendMessageTarget',
      'ToolImplementationInput',
    ])
  })

  it('[SCH4] has the nouns, and the defaults that the contract gives', () => {
    const text = printSchema(schema)
    for (const name of ['Agent', 'AgentTool', 'Block', 'Conversation', 'Tool'])
      expect(text).toContain(`type ${name} implements Node {`)
    expect(text).toContain('instructions: String! = ""')
    expect(text).toContain('includeBaseTools: Boolean! = true')
    expect(text).toContain('union UpdateBlockResult = BlockChangedRefusal | UpdateBlockSuccess')
    expect(text).toMatch(/nodes\(\s*("""[^"]*"""\s*)?ids: \[ID!\]!\s*\): \[Node\]!/)
  })
  it('[SCH5] takes JSON of any shape, nested no deeper than 100 levels', () => {
    const json = schema.getType('JSON') as GraphQLScalarType
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
    expect(json.parseValue(nested(100))).toEqual(nested(100))
    expect(() => json.parseValue(nested(101))).toThrow('100 levels')
    let bottomless: unknown = {}
    for (let level = 0; level < 100_000; level += 1) bottomless = { bottomless }
    expect(() => json.parseValue(bottomless)).toThrow('100 levels')
    expect(json.parseValue({ ['__proto__']: { polluted: true } })).toEqual({ ['__proto__']: { polluted: true } })
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('[SCH7] accepts only instants with a time zone and an existing date', () => {
    const time = schema.getType('DateTime') as GraphQLScalarType
    expect(time.parseValue('2024-02-29T23:30:00-01:00')).toEqual(new Date('2024-03-01T00:30:00.000Z'))
    for (const value of ['2026-02-29T00:00:00Z', '2026-04-31T00:00:00Z', '2026-01-01T00:00:00', '2026-01-01', 0]) {
      expect(() => time.parseValue(value)).toThrow('is not an instant')
    }
  })

  it('[SCH80] has nodes, edges, page info and a count on every connection, and the same paging arguments', () => {
    // A log is read in one direction, with the cursors of its stream.
    const types = Object.values(schema.getTypeMap()).filter(({ name }) => name !== 'RunEventConnection')
    const connections = types.filter((type) => type.name.endsWith('Connection') && isObjectType(type))
    expect(connections.length).toBeGreaterThanOrEqual(9)
    for (const connection of connections) {
      const node = connection.name.replace('Connection', '')
      expect(shapeOf(connection.name)).toEqual({
        nodes: `[${node}!]!`,
        edges: `[${node}Edge!]!`,
        pageInfo: 'PageInfo!',
        totalCount: 'Int!',
      })
      expect(shapeOf(`${node}Edge`)).toEqual({ node: `${node}!`, cursor: 'String!' })
    }
    const paged = types.flatMap((type) =>
      isObjectType(type)
        ? Object.values(type.getFields()).filter(
            (field) => String(field.type).endsWith('Connection!') && field.name !== 'events',
          )
        : [],
    )
    for (const field of paged) {
      const args = field.args.map(({ name, type }) => `${name}: ${type}`)
      expect(args).toEqual(expect.arrayContaining(['first: Int', 'after: String', 'last: Int', 'before: String']))
    }
  })

  it('[SCH6] has the possible types that possible-types.json says', async () => {
    const stored = JSON.parse(await readFile(new URL('../../possible-types.json', import.meta.url), 'utf8'))
    const made = introspectionFromSchema(schema).__schema.types.flatMap((type) =>
      type.kind === 'INTERFACE' || type.kind === 'UNION'
        ? [[type.name, type.possibleTypes.map(({ name }) => name).toSorted()]]
        : [],
    )
    expect(stored, 'run `npm run schema` and commit the result').toEqual(Object.fromEntries(made))
    expect(stored.Refusal).toContain('PendingApprovalRefusal')
  })
})
