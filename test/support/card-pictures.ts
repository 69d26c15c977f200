import { createHash } from 'node:crypto'
import { renderBatch as slackBatch, renderCard as slackCard } from '../../adapters/slack/cards.ts'
import { renderBatch as teamsBatch, renderCard as teamsCard } from '../../adapters/teams/cards.ts'
import { BATCH_VIEWS, SIX_VIEWS } from './card-samples.ts'
import { drawBlocks, pageOf } from './draw-blocks.ts'
import { cardPage } from './draw-card.ts'

export interface CardPicture {
  file: string
  html: string
  /** Of the window, in pixels. */
  width: number
}

const THEMES = ['light', 'dark'] as const

/** What the pictures show, as both platforms draw it. */
const DRAWN = [
  ...SIX_VIEWS.map(({ name, view }) => ({ name, slack: slackCard(view), teams: teamsCard(view) })),
  ...BATCH_VIEWS.map(({ name, view }) => ({ name, slack: slackBatch(view), teams: teamsBatch(view) })),
]

/** The pages that `docs/cards` shows pictures of. */
export function slackPictures(): CardPicture[] {
  return THEMES.flatMap((theme) =>
    DRAWN.map(({ name, slack }) => ({
      file: `${name}-${theme}.png`,
      html: pageOf(drawBlocks(slack.blocks, theme), theme),
      width: 640,
    })),
  )
}

/** The same for Teams, as wide as in a conversation. */
export function teamsPictures(): CardPicture[] {
  return THEMES.flatMap((theme) =>
    DRAWN.map(({ name, teams }) => ({
      file: `teams-${name}-${theme}.png`,
      html: cardPage([teams.card], theme, true),
      width: 520,
    })),
  )
}

/** Hashes of the cards behind the pictures. */
export function drawnNow(): Record<string, string> {
  const drawn: [string, unknown][] = DRAWN.flatMap(({ name, slack, teams }) => [
    [name, slack.blocks],
    [`teams-${name}`, teams.card],
  ])
  return Object.fromEntries(drawn.map(([name, card]) => [name, sha256(JSON.stringify(card))]))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
