/** Undefined for a text that is no URL. `URL.canParse` is missing in Safari before 17 and Chrome before 120. */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}
