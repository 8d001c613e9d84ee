import type { ReactNode } from 'react'
import { Link } from 'wouter'

import { Empty } from '../parts/empty.tsx'
import { Page } from '../parts/page.tsx'

export function NotFoundPage({ what = 'page' }: { readonly what?: string }): ReactNode {
  return (
    <Page title="Not found">
      <Empty icon="list" title={`There is no such ${what}`}>
        <p>It may have been deleted, or the address is incomplete.</p>
        <Link href="/agents">Go to the agents</Link>
      </Empty>
    </Page>
  )
}
