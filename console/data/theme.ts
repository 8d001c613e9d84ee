export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const place = 'holdpoint.theme'
const listeners = new Set<() => void>()

/** Calls the listener after each change of the theme, until the returned function is called. */
export function onThemeChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export function readTheme(): Theme {
  const stored = localStorage.getItem(place)
  return themes.find((theme) => theme === stored) ?? 'system'
}

/** The styles follow `data-theme` or, without it, the system. */
export function applyTheme(theme: Theme): void {
  localStorage.setItem(place, theme)
  for (const listener of [...listeners]) listener()
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}
