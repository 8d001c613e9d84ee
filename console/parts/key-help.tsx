import type { ReactNode } from 'react'

import { Dialog } from './dialog.tsx'

const keys = [
  ['j', 'next'],
  ['k', 'previous'],
  ['a', 'approve, after five seconds'],
  ['u', 'undo what was not sent yet'],
  ['x', 'select, to decide about several'],
  ['d', 'deny'],
  ['e', 'edit the arguments'],
  ['?', 'this help'],
] as const

export function KeyHelp({ onClose }: { readonly onClose: () => void }): ReactNode {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
