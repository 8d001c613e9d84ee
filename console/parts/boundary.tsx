import { Component, type ReactNode } from 'react'

import { Button } from './button.tsx'
import { Empty } from './empty.tsx'

/** Shows what went wrong in a page instead of an empty window. The navigation around it keeps working. */
export class Boundary extends Component<{ readonly children: ReactNode }, { readonly problem?: string }> {
  override state: { readonly problem?: string } = {}

  static getDerivedStateFromError(error: unknown): { problem: string } {
    return { problem: error instanceof Error ? error.message : String(error) }
  }

  override render(): ReactNode {
    if (this.state.problem === undefined) return this.props.children
    return (
      <Empty icon="pause" title="This page cannot be shown">
        <p>{this.state.problem}</p>
        <p>If the server was updated, reload the console to get its new version.</p>
        <Button onClick={() => location.reload()}>Reload</Button>
      </Empty>
    )
  }
}
