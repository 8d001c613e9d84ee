import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { faultOfCall } from '../../src/domain/tools/call-check.ts'
import type { RunState } from '../../src/domain/runs/run-state.ts'
import { judged } from '../../src/util/json-schema.ts'
import { conflictProblems } from '../../src/domain/tools/tool-rule-conflicts.ts'
import {
  allowedTools,
  forcesCall,
  prefilledArguments,
  uncalledTools,
  type PastCall,
} from '../../src/domain/tools/tool-rule-solver.ts'
import { describeToolRules } from '../../src/domain/context/prompt.ts'
import { checkedToolRule, type ToolRuleInput } from '../../src/domain/tools/tool-rules-input.ts'
import { toolRuleKinds, type ToolRule } from '../../src/domain/tools/tool-rules.ts'

const tools = ['a', 'b', 'c', 'd']

function rule(kind: ToolRule['kind'], tool: string, given: Partial<ToolRuleInput> = {}): ToolRule {
  return checkedToolRule('rule', { kind, tool, ...given })
}

const ran = (...names: string[]): PastCall[] => names.map((name) => ({ name, output: '' }))
const returned = (name: string, output: string): PastCall[] => [{ name, output }]

describe('the solver', () => {
  test('[RUL1] it allows exactly what each rule by itself allows, for any rules and history', () => {
    const name = fc.constantFrom(...tools)
    const names = fc.uniqueArray(name, { minLength: 1 })
    const anyRule = fc
      .record({
        kind: fc.constantFrom(...toolRuleKinds),
        tool: name,
        children: names,
        maxCalls: fc.integer({ min: 1, max: 3 }),
        mapping: fc.dictionary(fc.constantFrom('yes', 'no', '5'), name, { minKeys: 1 }),
        defaultChild: fc.option(name),
        requireMapping: fc.boolean(),
      })
      .map(({ kind, tool, children, maxCalls, mapping, defaultChild, requireMapping }) =>
        rule(kind, tool, {
          ...((kind === 'CHILDREN' || kind === 'PARENT') && { children }),
          ...(kind === 'MAX_CALLS' && { maxCalls }),
          ...(kind === 'CONDITIONAL' && { outputMapping: mapping, defaultChild, requireMapping }),
        }),
      )
    const history = fc.array(fc.record({ name, output: fc.constantFrom('yes', 'no', '5', 'other') }), { maxLength: 6 })
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 6 }), history, fc.subarray(tools), (rules, past, available) => {
        expect(allowedTools(rules, past, available)).toEqual(
          available.filter((tool) => naivelyAllowed(rules, past, tool)),
        )
      }),
      { numRuns: 2_000 },
    )
  })

  /** Written from the contract's sentences one by one, without sharing code with the solver. */
  function naivelyAllowed(rules: readonly ToolRule[], past: readonly PastCall[], tool: string): boolean {
    const before = past.length > 0 ? past.at(-1)! : null
    let firsts = 0
    let isFirst = false
    for (const each of rules) {
      if (each.kind === 'RUN_FIRST') {
        firsts += 1
        if (each.tool === tool) isFirst = true
      }
      if (each.kind === 'CHILDREN' && before !== null && before.name === each.tool) {
        if (!each.children.includes(tool)) return false
      }
      if (each.kind === 'PARENT' && each.children.includes(tool)) {
        if (before === null || before.name !== each.tool) return false
      }
      if (each.kind === 'CONDITIONAL' && before !== null && before.name === each.tool) {
        const mapped = each.outputMapping[before.output]
        if (mapped !== undefined) {
          if (mapped !== tool) return false
        } else if (each.requireMapping) return false
        else if (each.defaultChild !== null && each.defaultChild !== tool) return false
      }
      if (each.kind === 'MAX_CALLS' && each.tool === tool) {
        let count = 0
        for (const call of past) if (call.name === tool) count += 1
        if (count >= each.maxCalls) return false
      }
    }
    return firsts === 0 || past.length > 0 || isFirst
  }

  test('[RUL2] an empty set of allowed tools allows nothing, and no rule at all allows everything', () => {
    const rules = [rule('CHILDREN', 'a', { children: ['b'] }), rule('MAX_CALLS', 'b', { maxCalls: 1 })]
    expect(allowedTools(rules, ran('b', 'a'), tools)).toEqual([])
    expect(allowedTools([], ran('a'), tools)).toEqual(tools)
  })

  test('[RUL3] MAX_CALLS allows exactly that many, calls under way included', () => {
    const rules = [rule('MAX_CALLS', 'a', { maxCalls: 3 })]
    expect(allowedTools(rules, ran('a', 'a'), ['a'])).toEqual(['a'])
    expect(allowedTools(rules, ran('a', 'b', 'a', 'a'), ['a'])).toEqual([])
    expect(allowedTools(rules, ran('a'), ['a'], ['a', 'a'])).toEqual([])
    expect(allowedTools(rules, ran('a'), ['a'], ['a', 'b'])).toEqual(['a'])
  })

  test('[RUL4] CONDITIONAL compares strings, numbers, booleans and JSON by value', () => {
    const outputMapping = { ok: 'a', true: 'b', '5': 'c', '{"x":[1,2],"y":null}': 'd' }
    const rules = [rule('CONDITIONAL', 'z', { outputMapping, requireMapping: true })]
    const after = (output: string) => allowedTools(rules, returned('z', output), tools)
    for (const output of ['ok', ' ok\n', '"ok"']) expect(after(output)).toEqual(['a'])
    for (const output of ['true', 'True', ' true ']) expect(after(output)).toEqual(['b'])
    for (const output of ['5', '5.0', '5e0', '0.5e1']) expect(after(output)).toEqual(['c'])
    for (const output of ['{"y":null,"x":[1,2]}', '{ "x": [1, 2.0], "y": null }']) expect(after(output)).toEqual(['d'])
    for (const output of ['no', 'false', '6', '[]', '', 'null']) expect(after(output)).toEqual([])
  })

  test('[RUL4] CONDITIONAL without a match allows its default, any tool, or none if a match is required', () => {
    const conditional = (given: Partial<ToolRuleInput>) => [
      rule('CONDITIONAL', 'z', { outputMapping: { ok: 'a' }, ...given }),
    ]
    expect(allowedTools(conditional({ defaultChild: 'b' }), returned('z', 'no'), tools)).toEqual(['b'])
    expect(allowedTools(conditional({}), returned('z', 'no'), tools)).toEqual(tools)
    const strict = conditional({ requireMapping: true, defaultChild: 'b' })
    expect(allowedTools(strict, returned('z', 'no'), tools)).toEqual([])
  })

  test('[RUL5] PARENT lets its children follow only their parent, and lets others follow it too', () => {
    const rules = [rule('PARENT', 'a', { children: ['b'] })]
    expect(allowedTools(rules, [], tools)).toEqual(['a', 'c', 'd'])
    expect(allowedTools(rules, ran('a'), tools)).toEqual(tools)
    expect(allowedTools(rules, ran('a', 'c'), tools)).toEqual(['a', 'c', 'd'])
  })

  test('[RUL6] a call is forced exactly if a rule says what must be called now', () => {
    expect(forcesCall([rule('RUN_FIRST', 'a')], [])).toBe(true)
    expect(forcesCall([rule('RUN_FIRST', 'a')], ran('a'))).toBe(false)
    expect(forcesCall([rule('CHILDREN', 'a', { children: ['b'] })], ran('a'))).toBe(true)
    expect(forcesCall([rule('CHILDREN', 'a', { children: ['b'] })], ran('b'))).toBe(false)
    const open = rule('CONDITIONAL', 'a', { outputMapping: { ok: 'b' } })
    expect(forcesCall([open], returned('a', 'ok'))).toBe(true)
    expect(forcesCall([open], returned('a', 'no'))).toBe(false)
    expect(forcesCall([rule('PARENT', 'a', { children: ['b'] })], ran('a'))).toBe(false)
    expect(forcesCall([rule('MAX_CALLS', 'a', { maxCalls: 1 })], ran('a'))).toBe(false)
  })

  test('[RUL7] prefilled arguments come from the rules that allow the tool now; the later rule wins', () => {
    const rules = [
      rule('RUN_FIRST', 'a', { prefilledArguments: { x: 1 } }),
      rule('CHILDREN', 'a', { children: ['b', 'c'], prefilledArguments: { x: 2, y: 2 } }),
      rule('PARENT', 'a', { children: ['b'], prefilledArguments: { y: 3 } }),
      rule('CONDITIONAL', 'b', { outputMapping: { ok: 'c' }, prefilledArguments: { z: 4 } }),
    ]
    expect(prefilledArguments(rules, [], 'a')).toEqual({ x: 1 })
    expect(prefilledArguments(rules, ran('a'), 'a')).toBeUndefined()
    expect(prefilledArguments(rules, ran('a'), 'b')).toEqual({ x: 2, y: 3 })
    expect(prefilledArguments(rules, ran('a'), 'c')).toEqual({ x: 2, y: 2 })
    expect(prefilledArguments(rules, returned('b', 'ok'), 'c')).toEqual({ z: 4 })
    expect(prefilledArguments(rules, returned('b', 'no'), 'c')).toBeUndefined()
  })

  test('[RUL8] a required tool counts as missing until it has been called once', () => {
    const rules = [rule('REQUIRED_BEFORE_EXIT', 'a'), rule('REQUIRED_BEFORE_EXIT', 'b')]
    expect(uncalledTools(rules, [])).toEqual(['a', 'b'])
    expect(uncalledTools(rules, ran('b', 'c'))).toEqual(['a'])
    expect(uncalledTools(rules, ran('b', 'a'))).toEqual([])
  })
})

describe('rules that cannot be kept together', () => {
  const paths = (...rules: ToolRule[]) => conflictProblems(rules).map(({ path }) => path)

  test('[RUL9] a circle that no run could leave is refused; one with a way out is not', () => {
    const children = (tool: string, ...next: string[]) => rule('CHILDREN', tool, { children: next })
    expect(paths(children('a', 'a'))).toEqual(['0.children'])
    expect(paths(children('a', 'b'), children('b', 'a'))).toEqual(['0.children', '1.children'])
    expect(paths(children('a', 'b'), children('b', 'c'), children('c', 'b'))).toHaveLength(3)
    const mapped = { outputMapping: { ok: 'a' } }
    const always = rule('CONDITIONAL', 'b', { ...mapped, defaultChild: 'b' })
    expect(paths(children('a', 'b'), always)).toEqual(['0.children', '1.outputMapping'])

    expect(paths(children('a', 'a', 'b'))).toEqual([])
    expect(paths(children('a', 'b'), children('b', 'a', 'c'))).toEqual([])
    expect(paths(children('a', 'b'), children('b', 'a'), rule('TERMINAL', 'b'))).toEqual([])
    expect(paths(children('a', 'b'), children('b', 'a'), rule('MAX_CALLS', 'b', { maxCalls: 2 }))).toEqual([])
    expect(paths(children('a', 'b'), rule('CONDITIONAL', 'b', mapped))).toEqual([])
  })

  test('[RUL9] tools that could be called only after each other are refused', () => {
    const parent = (tool: string, ...next: string[]) => rule('PARENT', tool, { children: next })
    expect(paths(parent('a', 'a'))).toEqual(['0.children'])
    expect(paths(parent('a', 'b'), parent('b', 'c'), parent('c', 'a'))).toHaveLength(3)
    expect(paths(parent('a', 'b', 'c'), parent('b', 'd'))).toEqual([])
  })
})

test('[RUL3] of several calls of one step, MAX_CALLS lets exactly as many through', async () => {
  const calls = [0, 1, 2].map((ordinal) => ({
    name: 'a',
    arguments: {},
    argumentsText: '{}',
    stepIndex: 1,
    ordinal,
    status: 'READY',
  }))
  const before = { ...calls[0], stepIndex: 0, status: 'FAILED', startedAt: new Date(), decision: null, result: null }
  const state = {
    agent: { toolRules: [rule('MAX_CALLS', 'a', { maxCalls: 3 })] },
    tools: [{ tool: { name: 'a', parameters: { type: 'object' } } }],
    run: { request: { clientTools: [] } },
    steps: [{ index: 0 }, { index: 1 }],
    calls: [before, ...calls],
  } as unknown as RunState
  const faults = await judged('test', () => calls.map((call) => faultOfCall(state, call)))
  expect(faults.map((fault) => fault === undefined)).toEqual([true, true, false])
})

test('[RUL10] every rule that limits the model is described in the prompt', () => {
  expect(
    describeToolRules([
      rule('RUN_FIRST', 'a'),
      rule('RUN_FIRST', 'b'),
      rule('CHILDREN', 'a', { children: ['b', 'c'] }),
      rule('PARENT', 'a', { children: ['d'] }),
      rule('CONDITIONAL', 'b', { outputMapping: { ok: 'c' }, defaultChild: 'd' }),
      rule('TERMINAL', 'd'),
      rule('MAX_CALLS', 'a', { maxCalls: 2 }),
      rule('REQUIRED_BEFORE_EXIT', 'c'),
      rule('REQUIRES_APPROVAL', 'c'),
      rule('CONTINUE', 'c'),
    ]),
  ).toEqual([
    'The first tool that you call must be a or b.',
    'Right after a, call b or c and nothing else.',
    'd may be called only right after a.',
    'Right after b, what it returned decides what to call: ok → c; anything else → d.',
    'Calling d ends your turn.',
    'a may be called at most 2 times.',
    'c must have been called before your turn ends.',
    'A person must approve each call of c.',
  ])
})
