import { useEffect, useRef, useState, type ClipboardEvent, type KeyboardEvent, type ReactNode } from 'react'

import type { WhenBusy } from '../../client/schema-types.ts'
import type { Conversation } from '../../react/use-conversation.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { useFileDrop } from '../data/use-file-drop.ts'
import { useGrowing } from '../data/use-growing.ts'
import { useKept } from '../data/use-kept.ts'
import { useUploads } from '../data/use-uploads.ts'
import { Button } from './button.tsx'
import { Problem } from './problem.tsx'
import { UploadList } from './upload-list.tsx'

interface ComposerProps {
  readonly conversationId: string
  readonly conversation: Conversation
  readonly onSend: () => void
}

/** Where a person writes. Enter sends, Shift+Enter starts a line. Files are chosen, pasted or dropped. */
export function Composer({ conversationId, conversation, onSend }: ComposerProps): ReactNode {
  const [text = '', setText] = useKept<string>(`message.${conversationId}`)
  const [whenBusy, setWhenBusy] = useState<WhenBusy>('ENQUEUE')
  const uploads = useUploads(conversationId)
  const area = useGrowing(text)
  const chooser = useRef<HTMLInputElement>(null)
  const { isActive, pendingCalls } = conversation
  const hint = pendingCalls.length > 0 ? 'Decide above, or write a message' : 'Write a message'
  const isDropping = useFileDrop(uploads.add)
  const cancel = useAction(async () => {
    const result = await conversation.cancel()
    if (result.__typename !== 'CancelRunSuccess') throw new Refused(result.message)
  })

  // A message that could not be sent is written here again after a reload, which would lose it.
  const failed = conversation.drafts.filter(({ state }) => state === 'FAILED').map((draft) => draft.text)
  const [unsent, setUnsent] = useKept<readonly string[]>(`unsent.${conversationId}`)
  useEffect(() => {
    if (unsent && failed.length === 0) setText([...unsent, text].filter(Boolean).join('\n\n'))
  }, [])
  useEffect(() => setUnsent(failed.length > 0 ? failed : undefined), [failed.join()])

  // A message must not leave without a file that is still on its way.
  const canSend = (text.trim() !== '' || uploads.ready.length > 0) && !uploads.isBusy

  function send(event?: { preventDefault(): void }): void {
    event?.preventDefault()
    const message = text.trim()
    const files = uploads.ready
    if (!canSend) return
    setText(undefined)
    uploads.clear()
    conversation.send(message, { whenBusy, files }).catch(() => {})
    onSend()
  }

  function pasted(event: ClipboardEvent): void {
    const { files, types } = event.clipboardData
    // A picture of the copied text comes with it from word processors. The name of a copied file comes with that.
    if (files.length === 0 || (types.includes('text/plain') && types.includes('text/html'))) return
    event.preventDefault()
    uploads.add(files)
  }

  function pressed(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }

  return (
    <form className={`composer ${isDropping ? 'dropping' : ''}`} onSubmit={send}>
      <Problem>{cancel.problem}</Problem>
      <UploadList uploads={uploads} />
      <div className="composer-box">
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          aria-label="Files"
          onChange={(event) => {
            if (event.target.files) uploads.add(event.target.files)
            event.target.value = ''
          }}
        />
        <Button
          look="quiet"
          icon="clip"
          aria-label="Attach files"
          title="Attach files"
          onClick={() => chooser.current?.click()}
        />
        <textarea
          ref={area}
          aria-label="Message"
          rows={1}
          placeholder={isDropping ? 'Drop files to attach them' : hint}
          value={text}
          onChange={(event) => setText(event.target.value || undefined)}
          onKeyDown={pressed}
          onPaste={pasted}
        />
        {isActive && (
          <Button icon="stop" isBusy={cancel.isBusy} onClick={() => cancel.run()}>
            Cancel run
          </Button>
        )}
        <Button look="primary" icon="send" type="submit" disabled={!canSend}>
          Send
        </Button>
      </div>
      {isActive && (
        <label className="when-busy">
          While a run is active, a message{' '}
          <select value={whenBusy} onChange={(event) => setWhenBusy(event.target.value as WhenBusy)}>
            <option value="ENQUEUE">waits for its turn</option>
            <option value="INTERRUPT">interrupts the run</option>
          </select>
        </label>
      )}
    </form>
  )
}
