import type { ReactNode } from 'react'

import { pretty } from '../data/format.ts'
import { Code } from './code.tsx'

export function JsonView({ value }: { readonly value: unknown }): ReactNode {
  return <Code text={pretty(value)} language="json" />
}
