import { memo, useEffect, useState, type ReactNode } from 'react'

import { CopyButton } from './copy-button.tsx'

type Highlight = (text: string, language: string) => ReactNode

let loaded: Highlight | undefined
let loading: Promise<Highlight> | undefined

/** Code with highlighting, which is loaded when the first code is shown. */
export const Code = memo(function Code({
  text,
  language,
}: {
  readonly text: string
  readonly language: string
}): ReactNode {
  const [highlight, setHighlight] = useState<Highlight | undefined>(() => loaded)
  useEffect(() => {
    if (highlight) return undefined
    let isGone = false
    loading ??= import('../data/highlight.ts').then((module) => (loaded = module.highlight))
    loading.then(
      (ready) => !isGone && setHighlight(() => ready),
      () => {},
    )
    return () => {
      isGone = true
    }
  }, [highlight])
  return (
    <div className="code">
      <div className="code-head">
        <span>{language || 'text'}</span>
        <CopyButton text={text} label="Copy code" />
      </div>
      <pre tabIndex={0} aria-label={`Code: ${language || 'text'}`}>
        <code>{highlight ? highlight(text, language) : text}</code>
      </pre>
    </div>
  )
})
