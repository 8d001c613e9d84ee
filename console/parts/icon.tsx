import type { ReactNode } from 'react'

const paths = {
  agents: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c.6-2.6 2.7-4 5.5-4s4.9 1.4 5.5 4',
  inbox: 'M2 9.5 4 3h8l2 6.5V13H2V9.5Zm0 0h3.5a2.5 2.5 0 0 0 5 0H14',
  runs: 'M3 2.5v11M3 4h6M5 8h7M4 12h4',
  tools:
    'M10.5 2.2a3.6 3.6 0 0 0-3.9 4.9L2.4 11.3a1.6 1.6 0 0 0 2.3 2.3l4.2-4.2a3.6 3.6 0 0 0 4.9-3.9l-2.1 2-2.1-.6-.6-2.1 1.5-2.6Z',
  memory: 'M3 3.5h10v9H3zM6 3.5v9M8 6.5h3M8 9.5h3',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.5V8l2.5 1.5',
  usage: 'M3 13.5v-4M6.5 13.5v-9M10 13.5V7M13.5 13.5v-6',
  budget: 'M8 2v12M11 4.5H6.7a1.9 1.9 0 0 0 0 3.5h2.6a1.9 1.9 0 0 1 0 3.5H5',
  webhooks: 'M9 2 3.5 9H7l-.5 5L12.5 7H9l0-5Z',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3l3.2 3.2',
  docs: 'M3 2.5h8.5a1 1 0 0 1 1 1v10H4a1 1 0 0 1-1-1v-10ZM3 11.5h9.5M6 5.5h3.5',
  settings: 'M2.5 5h7M12.5 5h1M2.5 11h1M6.5 11h7M11 3.5v3M5 9.5v3',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  check: 'm3 8.5 3.2 3.2L13 4.5',
  close: 'm4 4 8 8M12 4l-8 8',
  plus: 'M8 3v10M3 8h10',
  send: 'M8 13V3M4 7l4-4 4 4',
  stop: 'M4.5 4.5h7v7h-7z',
  panel: 'M2.5 3h11v10h-11zM10 3v10',
  list: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  link: 'M6.5 9.5 12.5 3.5M8.5 3.5h4v4M11.5 9.5v3h-8v-8h3',
  edit: 'm10.5 3 2.5 2.5-7.5 7.5H3v-2.5L10.5 3Z',
  again: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3',
  fork: 'M5 3.5v9M5 8h3.5A2.5 2.5 0 0 0 11 5.5v-2M9 5l2-2 2 2',
  back: 'm9.5 3.5-4 4.5 4 4.5',
  forward: 'm6.5 3.5 4 4.5-4 4.5',
  down: 'm3.5 6.5 4.5 4 4.5-4',
  more: 'M3 8.2a.2.2 0 1 0 .4 0 .2.2 0 0 0-.4 0ZM7.8 8.2a.2.2 0 1 0 .4 0 .2.2 0 0 0-.4 0ZM12.6 8.2a.2.2 0 1 0 .4 0 .2.2 0 0 0-.4 0Z',
  file: 'M4 2.5h5l3 3v8H4v-11ZM9 2.5v3h3',
  clip: 'M11 5.5 6.3 10.2a1.2 1.2 0 0 0 1.7 1.7l4.6-4.6a2.6 2.6 0 0 0-3.7-3.7L4.2 8.3a3.9 3.9 0 0 0 5.5 5.5l3.3-3.3',
  sun: 'M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6ZM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7',
  moon: 'M13 9.6A5.4 5.4 0 0 1 6.4 3a5.4 5.4 0 1 0 6.6 6.6Z',
  screen: 'M2.5 3.5h11v7h-11zM6 13h4M8 10.5V13',
  pause: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.5 6v4M9.5 6v4',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}
