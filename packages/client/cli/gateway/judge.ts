import { statSync } from 'node:fs'
import type { Json, JsonObject } from '../../src/json.ts'
import { actionOf, showArguments } from '../shown-arguments.ts'
import type { Question } from './desk.ts'
import { lockPath, type Pin, pinOf, readPins, type Tool } from './pins.ts'
import { type Gate, readGate } from './read-gate.ts'
import { decide, type Effect, fillTitle, type Rule } from './rules.ts'

/** The rules and pins as they stand in their files now. */
export interface Rulebook {
  gate: Gate
  pins: ReadonlyMap<string, Tool>
}

/**
 * Reads both files again whenever one has changed: a rule that denies counts at once, also for a call that a person has just
 * approved. @returns a function that throws Invalid while one of them cannot be read
 */
export function openRulebook(path: string): () => Rulebook {
  const files = [path, lockPath(path)]
  const state = () => files.map((file) => stampOf(file)).join()
  let [seen, book]: [string, Rulebook | undefined] = ['', undefined]
  return () => {
    const now = state()
    if (book === undefined || now !== seen) {
      book = undefined
      book = { gate: readGate(path), pins: readPins(lockPath(path)) }
      seen = now
    }
    return book
  }
}

function stampOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true })
  return stat ? `${stat.ino}.${stat.size}.${stat.mtimeNs}.${stat.ctimeNs}` : ''
}

/** What becomes of a call. */
export interface Judgement {
  effect: Effect
  rule: Rule | undefined
  /** What a person is asked. */
  question(): Question
}

/** What the model, and the person, know of a tool whose pin does not hold. */
const PIN_WORDS: Record<Pin, string> = {
  pinned: '',
  changed: 'changed since it was pinned',
  'not pinned': 'not pinned',
}
const LONGEST_DESCRIPTION = 2000

/** A call, as far as it is judged. */
interface Judged {
  name: string
  given: JsonObject
  /** What the client answers to a question of the server: shown to the person, and not judged. */
  answers: Json | undefined
}

/**
 * Judges a call. `allow` holds for a tool whose definition is the pinned one; any other is a new tool, and needs an approval.
 * @param tool absent if the server does not list it
 */
export function judge({ gate, pins }: Rulebook, call: Judged, tool: Tool | undefined): Judgement {
  const pin = pinOf(pins, tool)
  const { effect, rule } = decide(gate.rules, call.name, call.given, gate.unlisted)
  return {
    effect: effect === 'allow' && pin !== 'pinned' ? 'approve' : effect,
    rule,
    question: () => questionOf(gate, rule, call, { tool, pin }),
  }
}

function questionOf(
  gate: Gate,
  rule: Rule | undefined,
  { name, given, answers }: Judged,
  { tool, pin }: { tool: Tool | undefined; pin: Pin },
): Question {
  const { server, ttlSeconds, useWithinSeconds } = gate
  const description = String(tool?.definition.description ?? '')
  const rest: JsonObject = {
    server,
    tool: name,
    ...(answers !== undefined && { input_responses: answers }),
    ...(tool && { definition_sha256: tool.sha256 || null }),
    ...(pin !== 'pinned' && { definition: tool ? PIN_WORDS[pin] : 'not listed by the server' }),
    ...(pin !== 'pinned' &&
      description !== '' && { description: [...description].slice(0, LONGEST_DESCRIPTION).join('') }),
  }
  const { note, ...shown } = showArguments(rest, given)
  const more = `${pin === 'changed' ? ' (the tool has changed)' : ''}${note}`
  const title = rule?.title === undefined ? `Call ${name} of ${server}` : fillTitle(rule.title, given)
  return {
    action: actionOf(`${[...title].slice(0, 380).join('')}${more}`, ''),
    ...shown,
    ttlSeconds,
    useWithinSeconds,
  }
}
