import { type BsonDocument, type BsonValue, isDocument } from '../semantics/values.ts'

/**
 * The top-level fields a filter looks at, for reading only these of a document; undefined if it may be any. It knows
 * the operators that hold filters or paths: what is in any other can only be about the path it stands under.
 */
export function rootsOf(filter: BsonDocument): Set<string> | undefined {
  const roots = new Set<string>()
  for (const [name, value] of filter) {
    if (name === '$comment') continue
    const inner = name === '$expr' ? pathsIn(value) : name.startsWith('$') ? branches(value) : [rootOf(name)]
    if (inner === undefined) return undefined
    for (const root of inner) roots.add(root)
  }
  return roots
}

function branches(value: BsonValue): Iterable<string> | undefined {
  if (!Array.isArray(value)) return undefined
  const roots: string[] = []
  for (const branch of value) {
    const inner = isDocument(branch) ? rootsOf(branch) : undefined
    if (inner === undefined) return undefined
    roots.push(...inner)
  }
  return roots
}

/** The fields that an expression may read: every text in it that can be a path; undefined for a variable but the clock. */
function pathsIn(value: BsonValue): string[] | undefined {
  if (typeof value === 'string') {
    if (value === '$$NOW' || !value.startsWith('$')) return []
    return value.startsWith('$$') ? undefined : [rootOf(value.slice(1))]
  }
  const parts = Array.isArray(value) ? value : isDocument(value) ? [...value.values()] : []
  const paths: string[] = []
  for (const part of parts) {
    const inner = pathsIn(part)
    if (inner === undefined) return undefined
    paths.push(...inner)
  }
  return paths
}

/** The first name of a path. */
export function rootOf(path: string): string {
  return path.split('.')[0] ?? path
}
