import bash from 'highlight.js/lib/languages/bash'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import go from 'highlight.js/lib/languages/go'
import graphql from 'highlight.js/lib/languages/graphql'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import markdown from 'highlight.js/lib/languages/markdown'
import python from 'highlight.js/lib/languages/python'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { createLowlight } from 'lowlight'
import { createElement, type ReactNode } from 'react'

const lowlight = createLowlight({
  bash,
  css,
  diff,
  go,
  graphql,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
})

interface HastNode {
  readonly type: string
  readonly value?: string
  readonly properties?: { readonly className?: unknown }
  readonly children?: readonly HastNode[]
}

/** Longer code is shown without colours, because finding them would block the page. */
const longest = 50_000

export function highlight(text: string, language: string): ReactNode {
  if (text.length > longest || !lowlight.registered(language)) return text
  return (lowlight.highlight(language, text) as HastNode).children?.map(toElement)
}

function toElement(node: HastNode, key: number): ReactNode {
  if (node.type === 'text') return node.value
  const className = Array.isArray(node.properties?.className) ? node.properties.className.join(' ') : undefined
  return createElement('span', { key, className }, node.children?.map(toElement))
}
