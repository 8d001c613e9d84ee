import { useSyncExternalStore, type ReactNode } from 'react'

import { applyTheme, onThemeChange, readTheme, themes } from '../data/theme.ts'
import { Icon } from './icon.tsx'

const icons = { system: 'screen', light: 'sun', dark: 'moon' } as const

export function ThemeChoice(): ReactNode {
  const theme = useSyncExternalStore(onThemeChange, readTheme)
  return (
    <div className="theme-choice" role="radiogroup" aria-label="Theme">
      {themes.map((one) => {
        const label = one.charAt(0).toUpperCase() + one.slice(1)
        return (
          <label key={one} title={label}>
            <input
              type="radio"
              name="theme"
              aria-label={label}
              checked={theme === one}
              onChange={() => applyTheme(one)}
            />
            <Icon name={icons[one]} />
          </label>
        )
      })}
    </div>
  )
}
