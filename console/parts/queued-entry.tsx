import type { ReactNode } from 'react'

import { CancelRun, type QueuedRunFields } from '../../client/documents.ts'
import { useClient } from '../../react/client-context.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { Button } from './button.tsx'
import { FileCount } from './file-count.tsx'

/** A message whose run waits in the queue. */
export function QueuedEntry({ run }: { readonly run: QueuedRunFields }): ReactNode {
  const client = useClient()
  const remove = useAction(async () => {
    const { cancelRun } = await client.request(CancelRun, { input: { runId: run.id } })
    if ('message' in cancelRun!) throw new Refused(cancelRun.message)
  })
  return (
    <article className="entry user draft" aria-label="User">
      <div className="bubble">
        {run.input.map(({ text }) => text).join('\n')}
        <FileCount count={run.input.flatMap(({ content }) => content).filter(({ kind }) => kind !== 'TEXT').length} />
      </div>
      <footer>
        <span>Waits for its turn</span>
        <Button look="quiet" className="small" isBusy={remove.isBusy} onClick={() => remove.run()}>
          Take back
        </Button>
        {remove.problem && <span className="field-problem">{remove.problem}</span>}
      </footer>
    </article>
  )
}
