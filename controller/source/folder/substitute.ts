/** `${NAME}` and `${NAME:-default}` in the few fields of resources in a folder that may use the environment. */

/** `message` follows the name of the field. */
export type Substituted = { ok: true; text: string } | { ok: false; message: string }

const PLACEHOLDER = /\$\$\{|\$\{([^}]*)\}?/g
const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}$/

/**
 * Replaces all placeholders in `text`. `${NAME:-default}` is the default if NAME is unset or empty; `$${` is a literal
 * `${`. Messages name variables and never quote the text.
 */
export function substitute(text: string, env: Readonly<Record<string, string | undefined>>): Substituted {
  const faults: string[] = []
  const replaced = text.replace(PLACEHOLDER, (placeholder) => {
    if (placeholder === '$${') return '${'
    const [, name, fallback, byDefault] = REFERENCE.exec(placeholder) ?? []
    if (name === undefined) {
      faults.push(`has a \${ that is not \${NAME} or \${NAME:-default}; write $\${ for a literal \${`)
      return ''
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (fallback !== undefined) return value === undefined || value === '' ? (byDefault ?? '') : value
    if (value === undefined) {
      faults.push(
        `needs the environment variable ${name}, which is not set; set it or write \${${name}:-default}`,
      )
    }
    return value ?? ''
  })
  const [fault] = faults
  return fault === undefined ? { ok: true, text: replaced } : { ok: false, message: fault }
}
