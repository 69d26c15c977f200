import { z } from 'zod'
import { HEADER_LENGTH, MESSAGE_BUDGET } from '../../adapters/slack/limits.ts'

/** What Slack accepts in one message, in UTF-16 units and pieces (docs.slack.dev, "Block Kit"). */
export const LIMIT = {
  blocks: 50,
  headerText: HEADER_LENGTH,
  /** Also the most that any text object holds. */
  sectionText: 3000,
  sectionFields: 10,
  fieldText: 2000,
  contextElements: 10,
  actionsElements: 25,
  buttonText: 75,
  buttonUrl: 3000,
  buttonValue: 2000,
  accessibilityLabel: 75,
  actionId: 255,
  blockId: 255,
  confirmTitle: 100,
  confirmText: 300,
  confirmButton: 30,
  /** The top-level `text`: more is discouraged, over 40 000 is cut by Slack. */
  fallbackText: 4000,
} as const

const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => value.isWellFormed(), 'half of a surrogate pair')
const plain = (max: number) =>
  z.strictObject({ type: z.literal('plain_text'), text: text(max), emoji: z.boolean().optional() })
const mrkdwn = (max: number) =>
  z.strictObject({ type: z.literal('mrkdwn'), text: text(max), verbatim: z.boolean().optional() })
const either = (max: number) => z.discriminatedUnion('type', [plain(max), mrkdwn(max)])
const url = text(LIMIT.buttonUrl).refine((value) => /^https?:\/\/\S+$/.test(value), 'not an http(s) address')
const blockId = { block_id: text(LIMIT.blockId).optional() }

const confirm = z.strictObject({
  title: plain(LIMIT.confirmTitle).optional(),
  text: either(LIMIT.confirmText),
  confirm: plain(LIMIT.confirmButton).optional(),
  deny: plain(LIMIT.confirmButton).optional(),
  style: z.enum(['primary', 'danger']).optional(),
})
const button = z.strictObject({
  type: z.literal('button'),
  text: plain(LIMIT.buttonText),
  action_id: text(LIMIT.actionId).optional(),
  url: url.optional(),
  value: text(LIMIT.buttonValue).optional(),
  style: z.enum(['primary', 'danger']).optional(),
  confirm: confirm.optional(),
  accessibility_label: text(LIMIT.accessibilityLabel).optional(),
})

const style = {
  style: z
    .strictObject({
      bold: z.boolean().optional(),
      italic: z.boolean().optional(),
      strike: z.boolean().optional(),
      code: z.boolean().optional(),
      underline: z.boolean().optional(),
    })
    .optional(),
}
const words = z.strictObject({ type: z.literal('text'), text: text(LIMIT.sectionText), ...style })
const link = z.strictObject({
  type: z.literal('link'),
  url,
  text: text(LIMIT.sectionText).optional(),
  ...style,
})
const date = z.strictObject({
  type: z.literal('date'),
  timestamp: z.int().positive().max(9_999_999_999),
  format: text(255).refine((value) => /\{[a-z_]+\}/.test(value), 'no date token'),
  url: url.optional(),
  fallback: text(255),
  ...style,
})
const emoji = z.strictObject({ type: z.literal('emoji'), name: text(100), ...style })
const user = z.strictObject({
  type: z.literal('user'),
  user_id: z.string().regex(/^[UW][A-Z0-9]+$/),
  ...style,
})
const inline = z.discriminatedUnion('type', [words, link, date, emoji, user])
const section = z.strictObject({ type: z.literal('rich_text_section'), elements: z.array(inline).min(1) })
const richText = z.strictObject({
  type: z.literal('rich_text'),
  ...blockId,
  elements: z
    .array(
      z.discriminatedUnion('type', [
        section,
        z.strictObject({ type: z.literal('rich_text_quote'), elements: z.array(inline).min(1) }),
        z.strictObject({
          type: z.literal('rich_text_preformatted'),
          elements: z.array(z.discriminatedUnion('type', [words, link])).min(1),
        }),
        z.strictObject({
          type: z.literal('rich_text_list'),
          style: z.enum(['bullet', 'ordered']),
          indent: z.int().min(0).max(8).optional(),
          elements: z.array(section).min(1),
        }),
      ]),
    )
    .min(1),
})

const block = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('header'), ...blockId, text: plain(LIMIT.headerText) }),
  z.strictObject({ type: z.literal('divider'), ...blockId }),
  z
    .strictObject({
      type: z.literal('section'),
      ...blockId,
      text: either(LIMIT.sectionText).optional(),
      fields: z.array(either(LIMIT.fieldText)).min(1).max(LIMIT.sectionFields).optional(),
      accessory: button.optional(),
      expand: z.boolean().optional(),
    })
    .refine((value) => value.text !== undefined || value.fields !== undefined, 'neither text nor fields'),
  z.strictObject({
    type: z.literal('context'),
    ...blockId,
    elements: z.array(either(LIMIT.sectionText)).min(1).max(LIMIT.contextElements),
  }),
  z.strictObject({
    type: z.literal('actions'),
    ...blockId,
    elements: z.array(button).min(1).max(LIMIT.actionsElements),
  }),
  richText,
])
const allBlocks = z.array(block).min(1).max(LIMIT.blocks)
const topLevel = z.looseObject({ text: text(LIMIT.fallbackText), blocks: allBlocks })

/**
 * Everything about these blocks that Slack would refuse or that breaks a limit of ours, one line each; empty is right.
 * Knows only the blocks this service uses; whatever else, down to an unknown field, is a problem.
 */
export function checkBlocks(blocks: unknown): string[] {
  const { error } = allBlocks.safeParse(blocks)
  return [...issues(error), ...repeated(blocks), ...tooLong(blocks)]
}

/** The same for a message: its blocks, and the top-level `text`, which has to be there. */
export function checkMessage(message: unknown): string[] {
  const { error, data } = topLevel.safeParse(message)
  return data === undefined ? issues(error) : [...repeated(data.blocks), ...tooLong(data.blocks)]
}

function issues(error: z.ZodError | undefined): string[] {
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

function tooLong(blocks: unknown): string[] {
  const shown = stringsOf(blocks, ['text', 'fallback']).reduce((sum, value) => sum + value.length, 0)
  const json = JSON.stringify(blocks ?? null).length
  return [
    ...(shown > MESSAGE_BUDGET.text ? [`${shown} characters of text`] : []),
    ...(json > MESSAGE_BUDGET.json ? [`${json} characters of JSON`] : []),
  ]
}

/** Slack wants ids to be unique: blocks in the message, actions in their block. */
function repeated(blocks: unknown): string[] {
  const perBlock = Array.isArray(blocks) ? blocks.map((one: unknown) => stringsOf(one, ['action_id'])) : []
  return [stringsOf(blocks, ['block_id']), ...perBlock]
    .flatMap((ids) => ids.filter((id, index) => ids.indexOf(id) !== index))
    .map((id) => `id ${id} used twice`)
}

/** Every text under one of these field names, at any depth. */
function stringsOf(value: unknown, names: readonly string[]): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' ? (names.includes(name) ? [inner] : []) : stringsOf(inner, names),
  )
}
