/** What is wrong with the input field at this path, such as `compaction.model`, or with a part of it. */
export type ProblemOf = (path: string) => string | undefined

/** A form whose fields can be bound by their names. */
export interface Fields<Form> {
  readonly form: Form
  readonly set: (part: Partial<Form>) => void
  readonly problemOf?: ProblemOf
}

type NamesOf<Form, Value> = { [Name in keyof Form]: Form[Name] extends Value ? Name : never }[keyof Form] & string

interface Change<Target> {
  readonly target: Target
}

interface Binding<Form> {
  /** The properties of a `Field`. `path` is where the input has the field, if not by the same name. */
  text(
    name: NamesOf<Form, string>,
    path?: string,
  ): { value: string; problem: string | undefined; onChange: (event: Change<{ value: string }>) => void }
  /** The properties of a `Check`. */
  check(name: NamesOf<Form, boolean>): {
    checked: boolean
    onChange: (event: Change<{ checked: boolean }>) => void
  }
}

/** Binds controls to the fields of a form by their names. */
export function bind<Form extends object>({ form, set, problemOf }: Fields<Form>): Binding<Form> {
  const change = (name: keyof Form, value: unknown): void => set({ [name]: value } as Partial<Form>)
  return {
    text: (name, path = name) => ({
      value: form[name] as string,
      problem: problemOf?.(path),
      onChange: ({ target }) => change(name, target.value),
    }),
    check: (name) => ({
      checked: form[name] as boolean,
      onChange: ({ target }) => change(name, target.checked),
    }),
  }
}
