import { createOpenWork } from '../../src/flow/chat/open-work.ts'
import type { FlowDeps } from '../../src/flow/deps.ts'
import { type AnsweringParts, answerMessage, NOTICES, say } from './answer-message.ts'
import { answerPress, PRESS_WORDS } from './answer-press.ts'
import { renderAnswer } from './answers.ts'
import type { BotClick, BotEvents, BotSource, ClickAnswer } from './bot-port.ts'
import { VERBS } from './elements.ts'

/** Teams gives up on a pressed button after a few seconds. */
const PRESS_MS = 1_800

/**
 * What happens when Teams tells us something. What must not be lost is stored before Teams has its answer; what takes calls
 * to Teams comes after it, once for each message however often it is delivered.
 */
export function takeEvents(parts: AnsweringParts, background: Background): BotEvents {
  const { deps, conversations, tenant } = parts
  return {
    async onInstalled(presence) {
      if (!presence.here) return conversations.leave(presence)
      await meet(parts, background, presence, true)
      if (!presence.new_to_person || !(await isFirst(deps, tenant, presence))) return
      background.run(
        () => answerMessage(parts, { ...presence, text: 'help' }),
        'a person in Teams was not welcomed',
      )
    },
    async onCommand(command) {
      await meet(parts, background, command, false)
      if (!(await isFirst(deps, tenant, command))) return
      background.run(() => answerMessage(parts, command), 'a message in Teams was not answered')
    },
    async onClick(click) {
      if (!click.fallback) return within(PRESS_MS, pressed(parts, click))
      if (await isFirst(deps, tenant, click)) {
        background.run(() => answerFallback(parts, click), 'a button in Teams was not answered')
      }
      return { words: '' }
    },
  }
}

async function pressed(parts: AnsweringParts, click: BotClick): Promise<ClickAnswer> {
  const answer = await answerOrWords(parts, click)
  return 'words' in answer ? answer : { card: answer.message.card }
}

/** Whatever happens, the person who pressed gets an answer. */
async function answerOrWords({ deps, tenant }: AnsweringParts, click: BotClick): Promise<PressAnswer> {
  try {
    return await answerPress(deps, tenant, click)
  } catch (error) {
    deps.log.error({ error }, 'a button in Teams was not answered')
    return { words: PRESS_WORDS.wentWrong }
  }
}

type PressAnswer = Awaited<ReturnType<typeof answerPress>>

/** Clients without `Action.Execute` show no answer in place: the card itself is edited, or a message follows it. */
async function answerFallback(parts: AnsweringParts, click: BotClick): Promise<void> {
  const { deps, calls } = parts
  const { log, cards, clock } = deps
  const answer = await answerOrWords(parts, click)
  if ('words' in answer) {
    const notice = { ...NOTICES.wentWrong, heading: 'Countersign shows nothing new', sentence: answer.words }
    await say(calls, log, click.place, renderAnswer(notice, { now: clock.now() }))
  } else if (click.verb === VERBS.refresh && answer.card?.message !== undefined) {
    await cards.doubt(answer.card.id, clock.now())
  } else {
    await say(calls, log, click.place, answer.message)
  }
}

/** Keeps where it came from; asks the directory for a person's address when it is not known, or when they add the app again. */
async function meet(
  { deps, conversations, calls }: AnsweringParts,
  background: Background,
  source: BotSource,
  installed: boolean,
): Promise<void> {
  const met = await conversations.meet(source)
  if (met?.kind !== 'person' || (met.email !== undefined && !installed)) return
  background.run(async () => {
    const found = await calls.resolveUser(source.place, source.member ?? met.who)
    if (found.ok) await conversations.describe(met, found.value)
    else deps.log.warn({ code: found.code }, 'a person in Teams is not known by e-mail address')
  }, 'a person in Teams was not looked up')
}

/** Ids of activities are counted by conversation. */
async function isFirst(
  { seen }: Pick<FlowDeps, 'seen'>,
  tenant: string,
  source: BotSource,
): Promise<boolean> {
  const { activity_id, place } = source
  return activity_id === '' || seen.first(`teams:${tenant}:${place.conversation_id}:${activity_id}`)
}

async function within(ms: number, answer: Promise<ClickAnswer>): Promise<ClickAnswer> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<ClickAnswer>((resolve) => {
    timer = setTimeout(() => resolve({ words: PRESS_WORDS.slow }), ms)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Work that goes on after Teams has its answer. */
interface Background {
  /** What is thrown is logged, with these words. */
  run(work: () => Promise<void>, failed: string): void
  /** Resolves when nothing is under way any more, or after five seconds. */
  settled(): Promise<void>
}

export function createBackground(log: FlowDeps['log']): Background {
  const open = createOpenWork()
  return {
    run: (work, failed) => open.add(work().catch((error: unknown) => log.error({ error }, failed))),
    settled: () => open.settled(),
  }
}
