import type { DocumentNode } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'

/** Measured: a parsed document takes 100 to 500 bytes of memory for each of its tokens. */
const bytesPerToken = 600

/**
 * Keeps documents that were parsed and found valid, on every transport. Bounded by the memory they take: a document of
 * 4 KB can take 1 MB once it is parsed. Documents that fail are not kept, because their errors take even more.
 */
export function useDocumentCache({ maxBytes }: { readonly maxBytes: number }): Plugin {
  const valid = new LRUCache<string, DocumentNode>({ maxSize: maxBytes, sizeCalculation: weigh })
  const texts = new WeakMap<DocumentNode, string>()
  return {
    onParse({ params, setParsedDocument }) {
      const text = String(params.source)
      const known = valid.get(text)
      if (known) setParsedDocument(known)
      return ({ result }) => {
        if (result !== null && 'definitions' in result) texts.set(result, text)
      }
    },
    onValidate({ params: { documentAST }, setResult }) {
      const text = texts.get(documentAST)
      if (text === undefined) return undefined
      if (valid.peek(text) === documentAST) setResult([])
      return ({ valid: isValid }) => {
        if (isValid) valid.set(text, documentAST)
      }
    },
  }
}

function weigh(document: DocumentNode, text: string): number {
  let tokens = 0
  for (let token = document.loc?.startToken ?? null; token; token = token.next) tokens += 1
  return tokens * bytesPerToken + text.length * 2
}
