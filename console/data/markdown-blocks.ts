import { Lexer, type Token } from 'marked'

/** How many blocks at the end may still change when more text arrives: a list, the space after it, and the next one. */
const open = 3

/**
 * Parses the blocks of a growing text. Blocks far enough from the end are not parsed again, so that the cost of a new
 * word does not grow with the length of an answer. Unchanged blocks stay the same objects.
 */
export function createBlockReader(): (text: string) => readonly Token[] {
  let known = ''
  let blocks: readonly Token[] = []
  return (text) => {
    const kept = text.startsWith(known) ? blocks.slice(0, -open) : []
    const length = kept.reduce((sum, { raw }) => sum + raw.length, 0)
    // The lexer changes line ends and tabs. If its blocks no longer add up to the text, all of it is parsed again.
    const isExact = kept.length === 0 || kept.map(({ raw }) => raw).join('') === text.slice(0, length)
    blocks = isExact ? [...kept, ...lex(text.slice(length))] : lex(text)
    known = text
    return blocks
  }
}

function lex(text: string): Token[] {
  return new Lexer({ gfm: true }).lex(text)
}
