import type { Token, Tokens } from 'marked'
import { memo, useState, type ReactNode } from 'react'

import { createBlockReader } from '../data/markdown-blocks.ts'
import { Code } from './code.tsx'
import { MessageImage } from './message-image.tsx'
import { SafeLink } from './safe-link.tsx'

/**
 * Markdown as React elements. HTML in the text is shown as text, so nothing in an answer can become markup. A block is
 * rendered again only when its own source changes, which is the last one while an answer streams.
 */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }): ReactNode {
  const [read] = useState(createBlockReader)
  const blocks = read(text)
  return (
    <div className="markdown">
      {blocks.map((block, index) => (
        <Block key={index} source={block.raw} token={block} />
      ))}
    </div>
  )
})

const Block = memo(
  function Block({ token }: { readonly source: string; readonly token: Token }): ReactNode {
    return renderBlock(token)
  },
  (before, after) => before.source === after.source && before.token.type === after.token.type,
)

function renderBlock(token: Token): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'hr':
      return <hr />
    case 'heading': {
      const { depth, tokens } = token as Tokens.Heading
      // The page's own headings have the upper levels.
      const Heading = `h${Math.min(depth + 2, 6)}` as 'h3'
      return <Heading>{renderInline(tokens)}</Heading>
    }
    case 'code': {
      const { text, lang } = token as Tokens.Code
      return <Code text={text} language={lang?.split(/\s/)[0] ?? ''} />
    }
    case 'blockquote':
      return <blockquote>{renderBlocks((token as Tokens.Blockquote).tokens)}</blockquote>
    case 'list':
      return renderList(token as Tokens.List)
    case 'table':
      return renderTable(token as Tokens.Table)
    case 'paragraph':
      return <p>{renderInline((token as Tokens.Paragraph).tokens)}</p>
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return tokens ? renderInline(tokens) : text
    }
    default:
      return <p>{token.raw}</p>
  }
}

function renderBlocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, index) => <Block key={index} source={token.raw} token={token} />)
}

function renderList({ ordered, start, items }: Tokens.List): ReactNode {
  const children = items.map((item, index) => (
    <li key={index}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} readOnly aria-label="Done" />}
      {renderBlocks(item.tokens)}
    </li>
  ))
  return ordered ? <ol start={start === '' ? 1 : start}>{children}</ol> : <ul>{children}</ul>
}

function renderTable({ header, rows }: Tokens.Table): ReactNode {
  return (
    <div className="table-scroll" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} scope="col">
                {renderInline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, place) => (
                <td key={place}>{renderInline(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function renderInline(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, index) => (
    <span key={index} className="inline">
      {renderOne(token)}
    </span>
  ))
}

function renderOne(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{renderInline((token as Tokens.Strong).tokens)}</strong>
    case 'em':
      return <em>{renderInline((token as Tokens.Em).tokens)}</em>
    case 'del':
      return <del>{renderInline((token as Tokens.Del).tokens)}</del>
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>
    case 'br':
      return <br />
    case 'link': {
      const { href, tokens } = token as Tokens.Link
      return <SafeLink href={href}>{renderInline(tokens)}</SafeLink>
    }
    case 'image': {
      const { href, text } = token as Tokens.Image
      return <MessageImage url={href} text={text} />
    }
    case 'escape':
      return (token as Tokens.Escape).text
    case 'text': {
      const { tokens, raw } = token as Tokens.Text
      return tokens ? renderInline(tokens) : raw
    }
    default:
      return token.raw
  }
}
