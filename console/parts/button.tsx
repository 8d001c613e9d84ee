import type { ButtonHTMLAttributes, MouseEvent, ReactNode } from 'react'

import { Icon, type IconName } from './icon.tsx'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: 'primary' | 'plain' | 'quiet' | 'danger'
  readonly icon?: IconName
  /** An action is in progress, so the button cannot be pressed again. */
  readonly isBusy?: boolean
  /**
   * People press it several times in a row. For other buttons the second click of a double click does nothing, since it
   * may hit what has moved to the place of the first.
   */
  readonly isRepeatable?: boolean
}

export function Button({
  look = 'plain',
  icon,
  isBusy,
  isRepeatable,
  children,
  className,
  ...rest
}: ButtonProps): ReactNode {
  function clicked(event: MouseEvent<HTMLButtonElement>): void {
    if (!isRepeatable && event.detail > 1) event.preventDefault()
    else rest.onClick?.(event)
  }
  return (
    <button
      type="button"
      {...rest}
      className={`button ${look} ${children ? '' : 'only-icon'} ${className ?? ''}`}
      aria-busy={isBusy ? true : undefined}
      aria-disabled={isBusy ? true : undefined}
      onClick={isBusy ? undefined : clicked}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
