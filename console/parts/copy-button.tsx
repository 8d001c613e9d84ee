import { useState, type ReactNode } from 'react'

import { Button } from './button.tsx'

/** The clipboard needs HTTPS or localhost: elsewhere the browser shows the text in a dialog to copy from. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }): ReactNode {
  const [isCopied, setCopied] = useState(false)
  return (
    <Button
      look="quiet"
      icon={isCopied ? 'check' : 'copy'}
      aria-label={isCopied ? 'Copied' : label}
      title={isCopied ? 'Copied' : label}
      onClick={() => {
        copy(text)
        setCopied(true)
        setTimeout(() => setCopied(false), 1_500)
      }}
    />
  )
}

function copy(text: string): void {
  if (navigator.clipboard as Clipboard | undefined) void navigator.clipboard.writeText(text).catch(() => {})
  else prompt('Copy this text:', text)
}
