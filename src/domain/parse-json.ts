/** The value of JSON text; undefined for what is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The same for texts that other programs read, too: undefined also where they could find other members in it. */
export function parseUnambiguous(text: string): unknown {
  const value = parseJson(text)
  return value === undefined || hasTwins(text) ? undefined : value
}

/**
 * Does any object in this JSON name a member twice? JSON.parse keeps the last, other readers the first: no two need see the same.
 * @param fold makes names alike that readers may take for one
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
