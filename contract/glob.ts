/** Globs of ApiKey.spec.models: `*` matches any run of characters, everything else matches itself. */

export const MAX_GLOB_LENGTH = 256
export const MAX_GLOB_STARS = 8

/** True when all of `text` matches `glob`. Uses two pointers and one backtrack point: linear in practice, no regex. */
export function matchesGlob(glob: string, text: string): boolean {
  let g = 0
  let t = 0
  let star = -1
  let starText = 0
  while (t < text.length) {
    if (g < glob.length && glob[g] === '*') {
      star = g++
      starText = t
    } else if (g < glob.length && glob[g] === text[t]) {
      g++
      t++
    } else if (star >= 0) {
      g = star + 1
      t = ++starText
    } else return false
  }
  while (glob[g] === '*') g++
  return g === glob.length
}
