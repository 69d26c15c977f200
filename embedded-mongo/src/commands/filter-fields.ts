import { type BsonDocument, type BsonValue, isDocument } from '../semantics/values.ts'

/**
 * Returns the top-level fields that a filter reads, so that only these are decoded. It knows the operators that contain
 * filters or paths; the content of any other operator concerns only the path it stands under.
 */
export function rootsOf(filter: BsonDocument): Set<string> {
  return new Set([...filter].flatMap(([name, value]) => rootsIn(name, value)))
}

function rootsIn(name: string, value: BsonValue): string[] {
  if (name === '$expr') return pathsIn(value)
  if (!BRANCHES.has(name)) return [rootOf(name)]
  const branches = Array.isArray(value) ? value : []
  return branches.flatMap((branch) => (isDocument(branch) ? [...rootsOf(branch)] : []))
}

const BRANCHES = new Set(['$and', '$or', '$nor'])

/** Returns the fields that an expression may read: every string in it that can be a path. */
function pathsIn(value: BsonValue): string[] {
  if (typeof value === 'string') return /^\$[^$]/.test(value) ? [rootOf(value.slice(1))] : []
  const parts = Array.isArray(value) ? value : isDocument(value) ? [...value.values()] : []
  return parts.flatMap(pathsIn)
}

/** Returns the first name of a path. */
export function rootOf(path: string): string {
  return path.split('.')[0] ?? path
}
