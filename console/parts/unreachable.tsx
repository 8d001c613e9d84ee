import { useEffect, type ReactNode } from 'react'

import { resume } from '../data/session.ts'
import { Button } from './button.tsx'
import { Empty } from './empty.tsx'

/** The server does not answer. The page tries again every few seconds. */
export function Unreachable({ problem }: { readonly problem: string }): ReactNode {
  useEffect(() => {
    const timer = setInterval(() => void resume(), 3_000)
    return () => clearInterval(timer)
  }, [])
  return (
    <main className="alone">
      <Empty icon="pause" title="The server does not answer">
        <p>{problem}</p>
        <Button onClick={() => void resume()}>Try again</Button>
      </Empty>
    </main>
  )
}
