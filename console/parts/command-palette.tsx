import {
  useDeferredValue,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
} from 'react'
import { useLocation } from 'wouter'

import { Jump, type JumpData } from '../data/documents.ts'
import { addressOf, forms, places } from '../data/places.ts'
import { applyTheme, themes } from '../data/theme.ts'
import { useQuery } from '../data/use-query.ts'
import { Icon, type IconName } from './icon.tsx'

interface Command {
  readonly label: string
  /** What kind of place it is. */
  readonly hint: string
  readonly icon: IconName
  /** The address to go to, or what to do. */
  readonly to: string | (() => void)
}

/** Opens with Ctrl or Cmd and K. */
export function usePalette(): [isOpen: boolean, setOpen: (isOpen: boolean) => void] {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    function pressed(event: globalThis.KeyboardEvent): void {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return
      event.preventDefault()
      // A dialog that is open keeps what was typed into it, and stays in front.
      if (!document.querySelector('dialog[open]:not(.palette)')) setOpen((before) => !before)
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
  return [isOpen, setOpen]
}

/** Goes to any page, agent, conversation or id, and does what every page offers, by the keyboard alone. */
export function CommandPalette({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [, navigate] = useLocation()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const words = useDeferredValue(text.trim())
  const { data } = useQuery(Jump, words ? { text: words } : {})
  const commands = commandsFor(text.trim(), data)
  const current = Math.min(at, commands.length - 1)
  useLayoutEffect(() => {
    const shown = dialog.current!
    shown.showModal()
    return () => shown.close()
  }, [])
  useLayoutEffect(() => {
    dialog.current!.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [current])

  function run({ to }: Command): void {
    onClose()
    if (typeof to === 'string') navigate(to)
    else to()
  }
  function pressed(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setAt((current + step + commands.length) % commands.length)
    else if (event.key === 'Enter' && commands[current]) run(commands[current])
    else return
    event.preventDefault()
  }
  return (
    <dialog ref={dialog} className="palette" aria-label="Go to" closedby="any" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Page, agent, conversation or id"
        placeholder="Page, agent, conversation or id"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={commands[current] && `${id}-${current}`}
        autoComplete="off"
        autoFocus
        value={text}
        onKeyDown={pressed}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Results">
        {commands.map((command, index) => (
          <li
            key={`${command.hint} ${typeof command.to === 'string' ? command.to : command.label}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            onPointerMove={() => setAt(index)}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            <span>{command.label}</span>
            <span className="quiet">{command.hint}</span>
          </li>
        ))}
      </ul>
      {commands.length === 0 && <p className="quiet">Nothing is found.</p>}
    </dialog>
  )
}

function commandsFor(text: string, data: JumpData | undefined): Command[] {
  const address = addressOf(text)
  const found: Command[] = [
    ...(data?.agents.nodes ?? []).map(({ id, name }): Command => ({
      label: name,
      hint: 'Agent',
      icon: 'agents',
      to: `/agents/${id}`,
    })),
    ...(data?.conversations.nodes ?? []).map(({ id, title, agent, latestRun }): Command => {
      const label = title ?? latestRun?.input.find((part) => part.text)?.text ?? 'Conversation'
      return { label, hint: agent.name, icon: 'list', to: `/conversations/${id}` }
    }),
  ]
  const fixed: Command[] = [
    ...places.map(([to, label, icon]): Command => ({ label, hint: 'Page', icon, to })),
    { label: 'Docs', hint: 'Page', icon: 'docs', to: () => location.assign('/docs') },
    ...forms.map(([to, label]): Command => ({ label, hint: 'New', icon: 'plus', to })),
    ...themes.map((theme): Command => ({
      label: `Theme: ${theme}`,
      hint: 'Look',
      icon: 'sun',
      to: () => applyTheme(theme),
    })),
  ]
  const fits = ({ label }: Command): boolean => label.toLowerCase().includes(text.toLowerCase())
  if (address) return [{ label: text, hint: 'Open this id', icon: 'link', to: address }]
  return text === '' ? [...found.slice(-6), ...fixed] : [...fixed.filter(fits), ...found]
}
