import type { ButtonHTMLAttributes, ReactNode } from 'react'

import { Icon, type IconName } from './icon.tsx'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: 'primary' | 'plain' | 'quiet' | 'danger'
  readonly icon?: IconName
  /** An action is in progress, so the button cannot be pressed again. */
  readonly isBusy?: boolean
}

export function Button({ look = 'plain', icon, isBusy, children, className, ...rest }: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={`button ${look} ${children ? '' : 'only-icon'} ${className ?? ''}`}
      aria-busy={isBusy ? true : undefined}
      aria-disabled={isBusy ? true : undefined}
      onClick={isBusy ? undefined : rest.onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
