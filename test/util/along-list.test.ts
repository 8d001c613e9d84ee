import fc from 'fast-check'
import { expect, test } from 'vitest'

import { alongList } from '../../src/util/along-list.ts'

const items = Array.from({ length: 6 }, (_, number) => ({ number }))
type Item = (typeof items)[number]

test('[SPD1] whatever lists follow one another, each gets the result of its own items', () => {
  const numbersOf = alongList(
    (): number[] => [],
    (numbers, { number }: Item) => {
      numbers.push(number)
      return numbers
    },
  )
  const lists = fc.array(fc.array(fc.constantFrom(...items), { maxLength: 8 }), { maxLength: 20 })
  fc.assert(
    fc.property(lists, (given) => {
      for (const list of given) expect(numbersOf(list)).toEqual(list.map(({ number }) => number))
    }),
  )
})

test('[SPD1] a list that grows costs only what is new, and an item that cannot be added leaves nothing behind', () => {
  const added: number[] = []
  let fails = false
  const numbersOf = alongList(
    (): number[] => [],
    (numbers, { number }: Item) => {
      numbers.push(number)
      if (fails) throw new Error('cannot be added')
      added.push(number)
      return numbers
    },
  )
  numbersOf(items.slice(0, 3))
  numbersOf(items.slice(0, 4))
  expect(added).toEqual([0, 1, 2, 3])
  fails = true
  expect(() => numbersOf(items.slice(0, 5))).toThrow('cannot be added')
  fails = false
  expect(numbersOf(items.slice(0, 5))).toEqual([0, 1, 2, 3, 4])
})
