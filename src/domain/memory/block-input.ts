import { defaultBlockCharLimit, type Block } from './block.ts'
import { badUserInput } from '../errors.ts'
import {
  characterCount,
  checkedLabel,
  checkedNumber,
  checkedText,
  mergeFields,
  unchecked,
  type GivenFields,
} from '../input.ts'

export type BlockSettings = Pick<Block, 'label' | 'value' | 'description' | 'charLimit' | 'readOnly'>
export type BlockInput = GivenFields<BlockSettings>

const defaults = { value: '', description: null, charLimit: defaultBlockCharLimit, readOnly: false }

/** A new block before its input is merged. A label must be given. */
export const unsetBlock: BlockSettings = { label: '', ...defaults }

const maxBlockCharLimit = 1_000_000

/** Omitted fields stay unchanged. Null restores the default. `field` is the path of the input. */
export function mergeBlock(field: string, current: BlockSettings, input: BlockInput): BlockSettings {
  const block = mergeFields(field, input, {
    current,
    defaults,
    checks: {
      label: checkedLabel,
      value: (place, value) => checkedText(place, value, { max: maxBlockCharLimit }),
      description: (place, text) => checkedText(place, text, { max: 10_000 }),
      charLimit: (place, limit) => checkedNumber(place, limit, { from: 1, to: maxBlockCharLimit }),
      readOnly: unchecked,
    },
  })
  const size = characterCount(block.value)
  if (size > block.charLimit) {
    // The error names the field that was given or, if both were, the value.
    const blamed = typeof input.value === 'string' ? 'value' : 'charLimit'
    const takes =
      blamed === 'value'
        ? `At most ${block.charLimit} are allowed`
        : `${block.charLimit} is too low a limit for this value`
    throw badUserInput(`${field}.${blamed}`, `The value has ${size} characters. ${takes}.`)
  }
  return block
}
