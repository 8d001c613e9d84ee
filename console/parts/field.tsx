import {
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react'

interface Shared {
  readonly label: string
  readonly hint?: ReactNode
  /** What is wrong with the value. */
  readonly problem?: string | undefined
  /** The label is read by screen readers but not shown. */
  readonly hideLabel?: boolean
}

type FieldProps = Shared &
  (
    | ({ readonly as?: 'input' } & InputHTMLAttributes<HTMLInputElement>)
    | ({ readonly as: 'textarea' } & TextareaHTMLAttributes<HTMLTextAreaElement>)
    | ({ readonly as: 'select' } & SelectHTMLAttributes<HTMLSelectElement>)
  )

/** A control with its label, a hint, and what is wrong with its value. */
export function Field({ label, hint, problem, hideLabel, as = 'input', ...rest }: FieldProps): ReactNode {
  const id = useId()
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ')
  const Control = as as 'input'
  return (
    <div className="field">
      <label htmlFor={id} className={hideLabel ? 'unseen' : undefined}>
        {label}
      </label>
      <Control
        id={id}
        aria-describedby={described || undefined}
        aria-invalid={problem ? true : undefined}
        autoComplete="off"
        {...(rest as InputHTMLAttributes<HTMLInputElement>)}
      />
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
      {problem && (
        <p id={`${id}-problem`} className="field-problem">
          {problem}
        </p>
      )}
    </div>
  )
}
