export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const place = 'holdpoint.theme'

export function readTheme(): Theme {
  const stored = localStorage.getItem(place)
  return themes.find((theme) => theme === stored) ?? 'system'
}

/** The styles follow `data-theme` or, without it, the system. */
export function applyTheme(theme: Theme): void {
  localStorage.setItem(place, theme)
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}
