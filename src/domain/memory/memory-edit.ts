import { storableText, textIn, type JsonObject } from '../../util/json.ts'
import type { Block, BlockWrite } from './block.ts'
import { characterCount, shown } from '../input.ts'
import { placesOf } from '../../util/places-of.ts'

export const memoryToolNames = ['memory_insert', 'memory_replace', 'memory_rethink', 'memory_finish_edits'] as const
export type MemoryToolName = (typeof memoryToolNames)[number]

/** The result of a memory tool. The text of a failure tells the model what to do instead. */
export type MemoryEdit =
  | { readonly ok: true; readonly output: string; readonly write?: BlockWrite }
  | { readonly ok: false; readonly output: string }

export interface MemoryCall {
  readonly name: MemoryToolName
  /** Already checked against the tool's schema. */
  readonly args: JsonObject
  /** The agent's current blocks. */
  readonly blocks: readonly Block[]
  /** Whether the block is unchanged since the model saw it. */
  readonly isAsSeen: (block: Block) => boolean
}

export function editMemory({ name, args, blocks, isAsSeen }: MemoryCall): MemoryEdit {
  if (name === 'memory_finish_edits') return { ok: true, output: 'The edits are finished.' }
  const text = (argument: string) => textIn(args[argument])
  const block = blocks.find(({ label }) => label === args['label'])
  if (!block) return failed(`There is no memory block labelled ${shown(text('label'))}. ${labels(blocks)}`)
  if (block.readOnly) return failed(`The memory block ${block.label} is read-only. ${labels(blocks)}`)

  switch (name) {
    case 'memory_insert':
      return insert(block, text('new_string'), Number(args['insert_line'] ?? -1))
    case 'memory_replace':
      return replace(block, storableText(text('old_string')), text('new_string'))
    case 'memory_rethink':
      // This replaces the whole block, so it must not overwrite text that the model has not seen.
      return isAsSeen(block)
        ? written(block, text('new_memory'))
        : failed(
            `The memory block ${block.label} was changed by someone else meanwhile, and nothing was written. It now holds:\n${block.value}`,
          )
    default:
      return name satisfies never
  }
}

function insert(block: Block, text: string, line: number): MemoryEdit {
  const lines = block.value === '' ? [] : block.value.split('\n')
  if (line > lines.length)
    return failed(
      `The memory block ${block.label} has ${lines.length} lines. insert_line takes a number from 0 to ${lines.length}, or -1 for the end.`,
    )
  const place = line === -1 ? lines.length : line
  return written(block, [...lines.slice(0, place), text, ...lines.slice(place)].join('\n'))
}

/** How many places of a text that occurs several times are told. Each takes a walk through the block. */
const maxPlaces = 20

function replace(block: Block, old: string, text: string): MemoryEdit {
  const places = placesOf(block.value, old, maxPlaces + 1)
  const [first] = places
  if (first === undefined)
    return failed(
      `old_string does not occur in the memory block ${block.label}, character by character, and nothing was changed.`,
    )
  if (places.length > 1) {
    const lines = places.slice(0, maxPlaces).map((index) => block.value.slice(0, index).split('\n').length)
    const isMore = places.length > maxPlaces
    const count = isMore ? `more than ${maxPlaces}` : places.length
    return failed(
      `old_string occurs ${count} times in the memory block ${block.label}, in the lines ${lines.join(', ')}${isMore ? ' and others' : ''}, and nothing was changed. Give more of the text around the one that is meant.`,
    )
  }
  return written(block, block.value.slice(0, first) + text + block.value.slice(first + old.length))
}

function written(block: Block, given: string): MemoryEdit {
  const value = storableText(given)
  const size = characterCount(value)
  if (size > block.charLimit)
    return failed(
      `The memory block ${block.label} would have ${size} characters, and at most ${block.charLimit} are allowed. Nothing was written: leave out ${size - block.charLimit} or more.`,
    )
  if (value === block.value) return { ok: true, output: `The memory block ${block.label} is as it was.` }
  return {
    ok: true,
    output: `The memory block ${block.label} was edited. It has ${size} of ${block.charLimit} characters.`,
    write: { blockId: block.id, value, expectedVersion: block.version },
  }
}

function labels(blocks: readonly Block[]): string {
  const names = blocks.filter((block) => !block.readOnly).map((block) => block.label)
  return names.length === 0 ? 'No block can be edited.' : `Blocks that can be edited: ${names.join(', ')}.`
}

function failed(output: string): MemoryEdit {
  return { ok: false, output }
}
