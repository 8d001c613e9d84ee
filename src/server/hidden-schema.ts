import { NoSchemaIntrospectionCustomRule } from 'graphql'
import type { Plugin } from 'graphql-yoga'

/** Refuses introspection, and hides suggestions such as "Did you mean …?", which would reveal the schema bit by bit. */
export function useHiddenSchema(): Plugin {
  return {
    onValidate({ validateFn, setValidationFn, addValidationRule }) {
      addValidationRule(NoSchemaIntrospectionCustomRule)
      setValidationFn((schema, document, rules, options, typeInfo) =>
        validateFn(schema, document, rules, { ...options, hideSuggestions: true }, typeInfo),
      )
    },
  }
}
