import { defaultBlockCharLimit, type Block } from './memory/block.ts'
import { badUserInput } from './errors.ts'
import {
  characterCount,
  checkedLabel,
  checkedNumber,
  checkedText,
  merged,
  mergedRequired,
  type Given,
} from './input.ts'

export interface BlockInput {
  readonly label?: Given<string>
  readonly value?: Given<string>
  readonly description?: Given<string>
  readonly charLimit?: Given<number>
  readonly readOnly?: Given<boolean>
}

export type BlockSettings = Pick<Block, 'label' | 'value' | 'description' | 'charLimit' | 'readOnly'>

/** The defaults of a new block. A label must be given. */
export const unsetBlock: BlockSettings = {
  label: '',
  value: '',
  description: null,
  charLimit: defaultBlockCharLimit,
  readOnly: false,
}

const maxBlockCharLimit = 1_000_000

/** Omitted fields stay unchanged. Null restores the default. `field` is the path of the input. */
export function mergeBlock(field: string, current: BlockSettings, input: BlockInput): BlockSettings {
  const block: BlockSettings = {
    label: mergedRequired(`${field}.label`, input.label, {
      current: current.label,
      check: (label) => checkedLabel(`${field}.label`, label),
    }),
    value: merged(input.value, {
      current: current.value,
      cleared: unsetBlock.value,
      check: (value) => checkedText(`${field}.value`, value, { max: maxBlockCharLimit }),
    }),
    description: merged(input.description, {
      current: current.description,
      cleared: unsetBlock.description,
      check: (description) => checkedText(`${field}.description`, description, { max: 10_000 }),
    }),
    charLimit: merged(input.charLimit, {
      current: current.charLimit,
      cleared: unsetBlock.charLimit,
      check: (limit) => checkedNumber(`${field}.charLimit`, limit, { from: 1, to: maxBlockCharLimit }),
    }),
    readOnly: merged(input.readOnly, {
      current: current.readOnly,
      cleared: unsetBlock.readOnly,
      check: (readOnly) => readOnly,
    }),
  }
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
