import type { CompiledExpression } from './expression.ts'
import type { BsonValue } from './values.ts'

/** A parsed filter. `field` nodes carry a test of a path; `$ne`, `$nin` and `$exists: false` are negations. */
export type FilterNode =
  | { readonly kind: 'and' | 'or' | 'nor'; readonly children: readonly FilterNode[] }
  | { readonly kind: 'not'; readonly child: FilterNode }
  | { readonly kind: 'never' }
  | FilterLeaf

/** A condition on a document. */
export type FilterLeaf =
  | { readonly kind: 'field'; readonly path: string; readonly test: FieldTest }
  | { readonly kind: 'expression'; readonly expression: CompiledExpression }

/** The comparison operators. */
export type Comparison = 'eq' | 'gt' | 'gte' | 'lt' | 'lte'

/** A regular expression with its source; it also matches a stored expression of the same source. */
export interface RegexTest {
  readonly op: 'regex'
  readonly pattern: string
  readonly options: string
  readonly compiled: RegExp
}

/** A test of one value. */
export type FieldTest =
  | PlainTest
  | { readonly op: 'elemMatchValue'; readonly node: FilterNode }
  | { readonly op: 'elemMatchObject'; readonly node: FilterNode }

/** A test of one value that contains no further filters. */
export type PlainTest =
  | { readonly op: Comparison; readonly value: BsonValue }
  | { readonly op: 'in'; readonly values: readonly BsonValue[]; readonly regexes: readonly RegexTest[] }
  | { readonly op: 'exists' }
  | RegexTest
  | { readonly op: 'size'; readonly size: bigint }

/** Returns the conditions that must all hold: the children of nested `$and`s (and of a single-branch `$or`), flat. */
export function conjuncts(node: FilterNode): FilterNode[] {
  if (node.kind === 'and') return node.children.flatMap(conjuncts)
  const only = node.kind === 'or' && node.children.length === 1 ? node.children[0] : undefined
  return only ? conjuncts(only) : [node]
}

/** Returns all conditions of a filter, negated or not. */
export function leavesOf(node: FilterNode): FilterLeaf[] {
  if (node.kind === 'field' || node.kind === 'expression') return [node]
  if (node.kind === 'not') return leavesOf(node.child)
  return node.kind === 'never' ? [] : node.children.flatMap(leavesOf)
}

/** Returns the paths that a filter has conditions on, without those that expressions read. */
export function pathsOf(node: FilterNode): string[] {
  return leavesOf(node).flatMap((leaf) => (leaf.kind === 'field' ? leaf.path : []))
}
