import type { IconName } from '../parts/icon.tsx'

/** The pages of the navigation. `also` is the beginning of other addresses that belong to the page. */
export const places: readonly (readonly [path: string, label: string, icon: IconName, also?: string])[] = [
  ['/agents', 'Agents', 'agents', '/conversations'],
  ['/inbox', 'Inbox', 'inbox'],
  ['/runs', 'Runs', 'runs'],
  ['/tools', 'Tools', 'tools'],
  ['/memory', 'Memory', 'memory'],
  ['/schedules', 'Schedules', 'clock'],
  ['/usage', 'Usage', 'usage'],
  ['/budgets', 'Budgets', 'budget'],
  ['/webhooks', 'Webhooks', 'webhooks'],
  ['/settings', 'Settings', 'settings'],
]

/** Addresses that open the form of something new. */
export const forms: readonly (readonly [path: string, label: string])[] = [
  ['/agents/new', 'New agent'],
  ['/tools?new', 'New tool'],
  ['/memory?new', 'New block'],
  ['/schedules?new', 'New schedule'],
  ['/budgets?new', 'New budget'],
  ['/webhooks?new', 'New webhook'],
  ['/settings?new', 'New key'],
]

/** The address of what has this id. Undefined if it has no page. */
export function addressOf(id: string): string | undefined {
  const page = { agent: 'agents', conv: 'conversations', run: 'runs', webhook: 'webhooks' }[id.split('_')[0]!]
  return page && /^[a-z]+_\w+$/.test(id) ? `/${page}/${id}` : undefined
}
