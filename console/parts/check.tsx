import type { InputHTMLAttributes, ReactNode } from 'react'

interface CheckProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: ReactNode
  readonly hint?: ReactNode
}

/** A checkbox with its label. */
export function Check({ label, hint, ...rest }: CheckProps): ReactNode {
  return (
    <label className="check">
      <input type="checkbox" {...rest} />
      <span>
        {label} {hint && <span className="quiet clamp">{hint}</span>}
      </span>
    </label>
  )
}
