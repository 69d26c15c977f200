/** Parses JSON text; undefined when the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses JSON that other programs also read. Undefined also when a member is named twice: they might read another value. */
export function parseUnambiguous(text: string): unknown {
  const value = parseJson(text)
  return value === undefined || hasTwins(text) ? undefined : value
}

/**
 * Checks whether any object in this JSON names a member twice. JSON.parse keeps the last, other readers the first, so two
 * readers may see different values.
 * @param fold gives names that readers may take for the same member one spelling
 */
export function hasTwins(json: string, fold = (name: string): string => name): boolean {
  const open: Set<string>[] = []
  for (const [token, name] of json.matchAll(/[{}]|("(?:[^"\\]|\\.)*")(?:\s*:)?/g)) {
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (name !== undefined && token.endsWith(':')) {
      const names = open.at(-1)
      const folded = fold(String(JSON.parse(name)))
      if (names?.has(folded)) return true
      names?.add(folded)
    }
  }
  return false
}
