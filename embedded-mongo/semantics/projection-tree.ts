import type { CompiledExpression } from './expression.ts'
import type { CompiledFilter } from './filter.ts'

/** What a projection does with one field. */
export type ProjectionNode =
  | { readonly kind: 'include' }
  | { readonly kind: 'exclude' }
  | { readonly kind: 'slice'; readonly skip: number | undefined; readonly limit: number }
  | { readonly kind: 'elemMatch'; readonly filter: CompiledFilter }
  | { readonly kind: 'computed'; readonly expression: CompiledExpression }
  | ProjectionBranch

/** Projections of the fields of an embedded document. */
export interface ProjectionBranch {
  readonly kind: 'branch'
  readonly children: Map<string, ProjectionNode>
}

/** A parsed projection. `positional` is the path of a `path.$`. */
export interface ParsedProjection {
  readonly isInclusion: boolean
  readonly root: ProjectionBranch
  readonly positional: readonly string[] | undefined
}
