import type { ReactNode } from 'react'

import { SafeLink } from './safe-link.tsx'

/**
 * An image in a message. An image of another site would tell that site who reads this, and could leak text, so it opens
 * in a new tab on request.
 */
export function MessageImage({ url, text = '' }: { readonly url: string; readonly text?: string }): ReactNode {
  if (/^data:image\/(png|jpeg|gif|webp);/i.test(url)) return <img src={url} alt={text} />
  return <SafeLink href={url}>Image: {text || url}</SafeLink>
}
