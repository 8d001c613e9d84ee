import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { approvalPolicy, mayNeedApproval, needsApproval } from '../../src/domain/approvals/approval.ts'
import { unsetTool } from '../../src/domain/tools/tool-input.ts'
import type { ToolRule } from '../../src/domain/tools/tool-rules.ts'
import type { Tool } from '../../src/domain/tools/tool.ts'
import { judged } from '../../src/util/json-schema.ts'
import type { Json } from '../../src/util/json.ts'

const at = new Date('2026-01-01')
const args = { amount: 100 }
const tool: Tool = { ...unsetTool, id: 'tool', tenantId: 'tenant', name: 'pay', createdAt: at, updatedAt: at }
const rule: ToolRule = { kind: 'REQUIRES_APPROVAL', tool: 'pay' }

/** Every value of each column of the table in docs/tools.md, by its word there. */
const columns = [
  { yes: [rule], no: [] },
  { unset: null, true: true, false: false },
  {
    unset: null,
    satisfied: { properties: { amount: { minimum: 100 } } },
    'not satisfied': { properties: { amount: { minimum: 101 } } },
    'cannot be evaluated': { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } },
  },
  { true: true, false: false },
] as const

const combinations = Object.keys(columns[0]).flatMap((ruled) =>
  Object.keys(columns[1]).flatMap((override) =>
    Object.keys(columns[2]).flatMap((condition) =>
      Object.keys(columns[3]).map((required) => [ruled, override, condition, required]),
    ),
  ),
)

function documentedRows(): string[][] {
  const text = readFileSync(new URL('../../docs/tools.md', import.meta.url), 'utf8')
  const [, table] = /\n\| rule \|.*\n\| -.*\n((?:\|.*\n)+)/.exec(text)!
  return table!.split('\n').flatMap((line) => (line === '' ? [] : [line.split('|').map((cell) => cell.trim())]))
}

function policyOf([ruled, override, condition, required]: readonly string[]) {
  const given = <Column extends object>(column: Column, word: string) => column[word as keyof Column]
  const rules = given(columns[0], ruled!)
  const approvalOverride = given(columns[1], override!)
  const approvalCondition = given(columns[2], condition!) as Json
  const requiresApproval = given(columns[3], required!)
  return approvalPolicy({ tool: { ...tool, approvalCondition, requiresApproval }, approvalOverride }, rules)
}

test('[APR15] whether a call needs approval is what the table in docs/tools.md says, for every combination', async () => {
  const rows = documentedRows().map(([, ...cells]) => ({ cells: cells.slice(0, 4), needed: cells[4] === 'yes' }))
  expect(combinations).toHaveLength(48)
  for (const combination of combinations) {
    const fitting = rows.filter(({ cells }) => cells.every((cell, at) => cell === 'any' || cell === combination[at]))
    expect(fitting, combination.join(', ')).toHaveLength(1)
    const needed = await judged('test', () => needsApproval(policyOf(combination), args))
    expect(needed, combination.join(', ')).toBe(fitting[0]!.needed)
  }
})

test('[APR15] a tool may need approval exactly if some arguments need it', async () => {
  for (const combination of combinations) {
    const [ruled, override, , required] = combination
    const some = await judged('test', () =>
      Object.keys(columns[2])
        .filter((condition) => (condition === 'unset') === (combination[2] === 'unset'))
        .some((condition) => needsApproval(policyOf([ruled!, override!, condition, required!]), args)),
    )
    expect(mayNeedApproval(policyOf(combination)), combination.join(', ')).toBe(some)
  }
})
