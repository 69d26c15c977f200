/** `URL.canParse` is missing in Safari before 17 and Chrome before 120. Undefined for what is no address. */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}
