import type { Activity } from './read-activity.ts'

/** Teams writes messages as a little HTML; pasted receipts must be whole again. */
const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ', amp: '&' }

type Written = Pick<Activity, 'text' | 'recipient' | 'entities'>

/**
 * What somebody typed, as they meant it: without mentions of the bot (those that the activity itself declares, so that
 * nobody's `<at>` is taken for one), without the slash of a slash command, entities read as letters.
 */
export function readCommand(written: Written): string {
  let left = written.text ?? ''
  for (const mention of mentionsOfBot(written)) left = left.replaceAll(mention, ' ')
  const typed = left
    .replace(/&(lt|gt|quot|#39|nbsp|amp);/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .replaceAll('\u00a0', ' ')
    .trim()
  return typed.replace(/^\/(countersign\b\s*)?/i, '')
}

/** Is the bot mentioned, or told by a command that only it and the speaker see? */
export function isAddressed(written: Written): boolean {
  return written.recipient?.isTargeted === true || mentionsOfBot(written).length > 0
}

function mentionsOfBot({ recipient, entities }: Written): string[] {
  const bot = recipient?.id
  if (!bot) return []
  return (entities ?? [])
    .filter(({ type, mentioned }) => type === 'mention' && mentioned?.id === bot)
    .flatMap(({ text }) => text || [])
}
