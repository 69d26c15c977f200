import { z } from 'zod'
import { TEAMS_LIMITS } from '../../adapters/teams/limits.ts'
import { parseCard } from './parse-card.ts'

/** What a card may be. Teams hides or refuses more than six buttons in one row. */
export const LIMIT = { ...TEAMS_LIMITS, actions: 6, buttonTitle: 40, url: 2048 }

/** The only braces that clients may fill in: our own moments, whole seconds in UTC. */
const MOMENT = /\{\{TIME\((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\)\}\} · \{\{DATE\(\1,SHORT\)\}\}/

const wellFormed = z
  .string()
  .min(1)
  .refine((value) => value.isWellFormed(), 'half of a surrogate pair')
const noBraces = (value: string) => !/[{$]\{/.test(value)
const text = wellFormed.refine(noBraces, 'braces that clients may fill in')
/** A line with a moment: our own words around it, of Markdown bold alone. */
const dated = z.strictObject({
  type: z.literal('TextBlock'),
  text: wellFormed.refine((value) => {
    const ours = value.replace(MOMENT, '')
    return ours !== value && noBraces(ours) && /^(\*\*[^*]+\*\*|[^*_[\]<>])*$/.test(ours)
  }, 'more than a moment'),
  wrap: z.literal(true),
  spacing: z.enum(['None', 'Small', 'Default', 'Medium']),
  separator: z.literal(true).optional(),
})
const spacing = z.enum(['None', 'Small', 'Default', 'Medium'])
const url = z
  .string()
  .max(LIMIT.url)
  .refine((value) => /^https:\/\/[^\s@]+$/.test(value), 'not a plain https address')
const title = text.max(LIMIT.buttonTitle)

const run = z.strictObject({
  type: z.literal('TextRun'),
  text,
  weight: z.literal('Bolder').optional(),
  italic: z.literal(true).optional(),
  fontType: z.literal('Monospace').optional(),
  size: z.literal('Small').optional(),
  isSubtle: z.literal(true).optional(),
})
const richText = z.strictObject({
  type: z.literal('RichTextBlock'),
  inlines: z.array(run).min(1),
  spacing,
  separator: z.literal(true).optional(),
})
const heading = z.strictObject({
  type: z.literal('TextBlock'),
  text,
  wrap: z.literal(true),
  size: z.literal('Large'),
  weight: z.literal('Bolder'),
  style: z.literal('heading'),
})
const line = z.union([richText, heading, dated])

const verb = z.enum(['countersign.refresh', 'countersign.details'])
const request_id = z.string().min(1)
const openUrl = z.strictObject({
  type: z.literal('Action.OpenUrl'),
  title,
  url,
  style: z.enum(['positive', 'destructive']).optional(),
  tooltip: text.optional(),
})
const execute = z
  .strictObject({
    type: z.literal('Action.Execute'),
    title,
    verb,
    data: z.strictObject({ request_id }),
    fallback: z.strictObject({
      type: z.literal('Action.Submit'),
      title,
      data: z.strictObject({ verb, request_id }),
    }),
  })
  .refine(
    ({ fallback, ...action }) =>
      fallback.title === action.title &&
      fallback.data.verb === action.verb &&
      fallback.data.request_id === action.data.request_id,
    'a fallback that says something else',
  )
const toggle = z.strictObject({
  type: z.literal('Action.ToggleVisibility'),
  title,
  targetElements: z.tuple([z.literal('countersign_details')]),
})
const actions = z
  .array(z.discriminatedUnion('type', [openUrl, execute, toggle]))
  .min(1)
  .max(LIMIT.actions)
const framed = z.strictObject({
  type: z.literal('Container'),
  style: z.enum(['emphasis', 'good', 'attention', 'warning', 'accent']),
  spacing,
  items: z.array(line).min(1),
})
const actionSet = z.strictObject({ type: z.literal('ActionSet'), spacing, actions })
const fold = z.strictObject({
  type: z.literal('Container'),
  id: z.literal('countersign_details'),
  isVisible: z.literal(false),
  spacing,
  items: z.array(z.union([line, framed, actionSet])).min(1),
})

const card = z.strictObject({
  type: z.literal('AdaptiveCard'),
  version: z.literal(LIMIT.version),
  fallbackText: text,
  body: z.array(z.union([line, framed, actionSet, fold])).min(1),
  actions: actions.optional(),
})
const message = z.strictObject({ card, text })

/** What a client of version 1.2 says about a card of ours; all of it costs it nothing. */
const HARMLESS = [
  'Unknown action type "Action.Execute". Fallback will be used if present.',
  'Property "style" is supported in version 1.5, but you are using version 1.2.',
  'Property "tooltip" is supported in version 1.5, but you are using version 1.2.',
]

/**
 * Everything about a message that Teams would refuse, that an older client would not draw or that breaks a rule of ours,
 * one line each; empty is right. Knows only what this service uses: whatever else, down to an unknown field, is a problem.
 */
export function checkCard(candidate: unknown): string[] {
  const { error, data } = message.safeParse(candidate)
  if (data === undefined) {
    return (error?.issues ?? []).map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  }
  return [...tooLarge(data), ...misunderstood(data.card)]
}

/** With as much around it as the SDK may put there. */
function tooLarge(data: object): string[] {
  const bytes = Buffer.byteLength(JSON.stringify(data), 'utf16le') + LIMIT.envelopeBytes
  return bytes > LIMIT.activityBytes ? [`${bytes} bytes`] : []
}

function misunderstood(json: z.infer<typeof card>): string[] {
  const now = parseCard(json, '1.5')
  const old = parseCard(json, '1.2')
  const lost = textsIn(json.body).filter((one) => !textsIn(old.understood).includes(one))
  return [
    ...now.complaints,
    ...old.complaints.filter((complaint) => !HARMLESS.includes(complaint)),
    ...lost.map((one) => `a client of version 1.2 leaves out “${one}”`),
  ]
}

/** Every `text` and button title, at any depth. */
function textsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
    typeof inner === 'string' ? (name === 'text' || name === 'title' ? [inner] : []) : textsIn(inner),
  )
}
