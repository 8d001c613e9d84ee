import type { ReactNode } from 'react'

import { SafeLink } from './safe-link.tsx'

/**
 * An image in a message. One of another site would tell that site who reads this, and could carry text away: it opens
 * in a new tab when someone asks for it.
 */
export function MessageImage({ url, text = '' }: { readonly url: string; readonly text?: string }): ReactNode {
  if (/^data:image\/(png|jpeg|gif|webp);/i.test(url)) return <img src={url} alt={text} />
  return <SafeLink href={url}>Image: {text || url}</SafeLink>
}
