import { buildSchema } from 'graphql'
import { expect, it } from 'vitest'

import { findSchemaProblems } from '../../scripts/schema-policy.ts'
import { schema } from '../../src/graphql/schema.ts'

const released = buildSchema('type Query { agent(id: ID!): String old: Int } enum Kind { ONE TWO }')
const current = buildSchema(
  'type Query { agent(id: ID!, name: String!): String more: Int } enum Kind { ONE TWO THREE }',
)

it('[SCH8] a breaking change since the last release has to be named in the first chapter of the changelog', () => {
  const names = (changelog: string) =>
    findSchemaProblems({ current, released, changelog }).map((problem) => /: (.*?)\. Undo/.exec(problem)![1])
  const removed = 'Query.old was removed'
  const required = 'A required arg name on Query.agent was added'
  expect(names('# Changelog')).toEqual([removed, required])
  expect(names(`# Changelog\n## 2\n- \`Query.old\`\n  was removed.\n## 1\n- ${required}`)).toEqual([required])
  expect(names(`# Changelog\n## 2\n- ${removed}\n- A required arg \`name\` on \`Query.agent\` was added.`)).toEqual([])
  expect(findSchemaProblems({ current, released: undefined, changelog: '' })).toEqual([])
  expect(findSchemaProblems({ current: released, released, changelog: '' })).toEqual([])
})

it('[SCH9] every deprecation carries the date since when', () => {
  const reasons = buildSchema(`
    type Query {
      a: Int @deprecated(reason: "Use b.")
      b(old: Int @deprecated(reason: "Gone since 2026-01-01.")): Int
      c: Int @deprecated(reason: "Use b. Deprecated since 2026-01-01.")
    }
    enum Kind { ONE TWO @deprecated }
    input Filter { old: Int @deprecated(reason: "Deprecated since May.") other: Int }`)
  const problems = findSchemaProblems({ current: reasons, released: undefined, changelog: '' })
  expect(problems.map((problem) => problem.split(' ')[0])).toEqual(['Query.a', 'Query.b.old', 'Kind.TWO', 'Filter.old'])
  expect(findSchemaProblems({ current: schema, released: undefined, changelog: '' })).toEqual([])
})
