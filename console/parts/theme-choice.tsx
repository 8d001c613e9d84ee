import { useState, type ReactNode } from 'react'

import { applyTheme, readTheme, themes, type Theme } from '../data/theme.ts'

export function ThemeChoice(): ReactNode {
  const [theme, setTheme] = useState(readTheme)
  return (
    <select
      className="theme-choice"
      aria-label="Theme"
      value={theme}
      onChange={(event) => {
        const next = event.target.value as Theme
        setTheme(next)
        applyTheme(next)
      }}
    >
      {themes.map((one) => (
        <option key={one} value={one}>
          {one.charAt(0).toUpperCase() + one.slice(1)}
        </option>
      ))}
    </select>
  )
}
