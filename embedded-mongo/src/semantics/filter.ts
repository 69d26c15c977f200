import { isTruthy } from './expression.ts'
import { walkPath } from './field-paths.ts'
import {
  compileTest,
  type DocumentTest,
  elementTest,
  embeddedTest,
  type MatchContext,
  type ValueTest,
} from './filter-tests.ts'
import { conjuncts, type FieldTest, type FilterLeaf, type FilterNode } from './filter-tree.ts'
import { parseFilter } from './parse-filter.ts'
import type { BsonDocument } from './values.ts'

/** A filter compiled once and run on many documents. */
export interface CompiledFilter {
  /** True if the document matches; `now` is the store's clock, read by `$$NOW`. */
  matches(document: BsonDocument, now: Date): boolean
  /** Like `matches`, with the index of the array element that the positional `$` stands for, if the match set one. */
  matchDetail(document: BsonDocument, now: Date): { matched: boolean; arrayIndex?: number }
  /** The parsed filter, for the planner (`index-ranges.ts`), upserts and partial indexes. */
  readonly tree: FilterNode
  /** The conditions that must all hold. */
  readonly conditions: readonly FilterNode[]
}

/**
 * Compiles a query filter (manual, "Query and Projection Operators"; the allow-list is in `parse-filter.ts`).
 * Throws MongoError: 2 for an unknown operator or a malformed argument, 9, 14, 51091, 168 … as MongoDB does.
 */
export function compileFilter(filter: BsonDocument): CompiledFilter {
  const tree = parseFilter(filter)
  const test = compileNode(tree)
  return {
    tree,
    conditions: conjuncts(tree),
    matches: (document, now) => test(document, { now, arrayIndex: -1 }),
    matchDetail: (document, now) => {
      const context: MatchContext = { now, arrayIndex: -1 }
      const matched = test(document, context)
      return matched && context.arrayIndex >= 0 ? { matched, arrayIndex: context.arrayIndex } : { matched }
    },
  }
}

function compileNode(node: FilterNode): DocumentTest {
  return compileTree(node, (leaf) => {
    if (leaf.kind === 'field') return compileField(leaf)
    return (document, context) => isTruthy(leaf.expression({ root: document, now: context.now }))
  })
}

/** Inside `$elemMatch: {$gt: …}` the conditions test the element itself, not a path in it. */
function compileForValue(node: FilterNode): ValueTest {
  return compileTree(node, (leaf) => (leaf.kind === 'field' ? compileAnyTest(leaf.test) : () => false))
}

type Test<T> = (subject: T, context: MatchContext) => boolean

function compileTree<T>(node: FilterNode, compileLeaf: (leaf: FilterLeaf) => Test<T>): Test<T> {
  const branches = (children: readonly FilterNode[]) =>
    children.map((child) => compileTree(child, compileLeaf))
  switch (node.kind) {
    case 'and':
      return allOf(branches(node.children))
    case 'or':
      return anyOf(branches(node.children))
    case 'nor':
      return negated(anyOf(branches(node.children)))
    case 'not':
      return negated(compileTree(node.child, compileLeaf))
    case 'never':
      return () => false
    default:
      return compileLeaf(node)
  }
}

function compileField(node: Extract<FilterNode, { kind: 'field' }>): DocumentTest {
  const test = compileAnyTest(node.test)
  const path = node.path.split('.')
  const { op } = node.test
  const leaf =
    op === 'size' || op === 'elemMatchValue' || op === 'elemMatchObject' ? 'whole' : 'elements-and-whole'
  return (document, context) =>
    walkPath(document, path, leaf, (value, arrayIndex) => {
      if (!test(value, context)) return false
      // The outermost array is the one the positional operator names, so it overrides an inner $elemMatch.
      if (arrayIndex !== -1) context.arrayIndex = arrayIndex
      return true
    })
}

function compileAnyTest(test: FieldTest): ValueTest {
  if (test.op === 'elemMatchValue') return elementTest(compileForValue(test.node))
  return test.op === 'elemMatchObject' ? elementTest(embeddedTest(compileNode(test.node))) : compileTest(test)
}

function allOf<T>(tests: readonly Test<T>[]): Test<T> {
  const [only] = tests
  if (only !== undefined && tests.length === 1) return only
  return (subject, context) => {
    for (const test of tests) {
      if (!test(subject, context)) {
        context.arrayIndex = -1
        return false
      }
    }
    return true
  }
}

/** As in MongoDB, only a conjunction sets the index for the positional operator; a branch of `$or` does not. */
function anyOf<T>(tests: readonly Test<T>[]): Test<T> {
  const [only] = tests
  if (only !== undefined && tests.length === 1) return only
  return (subject, context) => {
    const before = context.arrayIndex
    const matched = tests.some((test) => test(subject, context))
    context.arrayIndex = before
    return matched
  }
}

function negated<T>(test: Test<T>): Test<T> {
  return (subject, context) => {
    const before = context.arrayIndex
    const matched = test(subject, context)
    context.arrayIndex = before
    return !matched
  }
}
