import { canonical, type Json, type JsonObject } from '../../src/json.ts'
import { type Condition, holds, valueAt } from './conditions.ts'

/** From the most open to the strictest. */
export const EFFECTS = ['allow', 'approve', 'deny'] as const
export type Effect = (typeof EFFECTS)[number]

/** One rule of the configuration. */
export interface Rule {
  /** Where it stands, like `rules[2]`. */
  at: string
  /** Names of tools; `*` stands for any text. */
  tools: readonly string[]
  effect: Effect
  when: readonly Condition[]
  /** The conditions as written, to compare rules. */
  written: Json
  /** What a person is asked, with arguments in braces. */
  title?: string | undefined
  /** Why it is denied, for the model. */
  reason?: string | undefined
}

/** What the rules say about a call. */
export interface Verdict {
  effect: Effect
  /** Absent if no rule is about the call. */
  rule?: Rule
}

/**
 * Finds the first rule that a call meets. If it is unknown whether a rule is met, since an argument is missing or of another kind,
 * the call is judged both ways, and the stricter verdict counts.
 * @param unlisted what holds for a call that no rule is about
 */
export function decide(rules: readonly Rule[], tool: string, given: JsonObject, unlisted: Effect): Verdict {
  let strictest: Verdict | undefined
  const consider = (verdict: Verdict) => {
    if (strictest === undefined || strictnessOf(verdict) > strictnessOf(strictest)) strictest = verdict
  }
  for (const rule of rules) {
    const met = isAbout(rule, tool) && holds(rule.when, given)
    if (met === false) continue
    consider({ effect: rule.effect, rule })
    if (met && strictest) return strictest
  }
  consider({ effect: unlisted })
  return strictest ?? { effect: 'deny' }
}

function strictnessOf({ effect }: Verdict): number {
  return EFFECTS.indexOf(effect)
}

/** Whether a rule names a tool. */
export function isAbout({ tools }: Rule, tool: string): boolean {
  return tools.some((pattern) => covers(pattern, tool))
}

/** Whether a pattern matches a name, or every name that another pattern matches: only a `*` matches a `*`. */
function covers(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*')}$`).test(name)
}

/** The earlier rule because of which this one is never met. */
export function shadowOf(rule: Rule, earlier: readonly Rule[]): Rule | undefined {
  return earlier.find(
    ({ tools, when, written }) =>
      (when.length === 0 || canonical(written) === canonical(rule.written)) &&
      rule.tools.every((name) => tools.some((pattern) => covers(pattern, name))),
  )
}

/** Code points of one argument in a title: a longer one would push the others out of it. */
const LONGEST_VALUE = 120

/** Fills the braces of a title. */
export function fillTitle(title: string, given: JsonObject): string {
  return title.replace(/\{([^{}]+)\}/g, (_, path: string) => {
    const value = valueAt(given, path)
    if (value === undefined) return `(no ${path})`
    const points = [...(typeof value === 'string' ? value : canonical(value))]
    return points.slice(0, LONGEST_VALUE).join('') + (points.length > LONGEST_VALUE ? '…' : '')
  })
}
