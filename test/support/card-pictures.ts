import { createHash } from 'node:crypto'
import { renderCard as slackCard } from '../../adapters/slack/cards.ts'
import { renderCard as teamsCard } from '../../adapters/teams/cards.ts'
import { SIX_VIEWS } from './card-samples.ts'
import { drawBlocks, pageOf } from './draw-blocks.ts'
import { cardPage } from './draw-card.ts'

export interface CardPicture {
  file: string
  html: string
  /** Of the window, in pixels. */
  width: number
}

const THEMES = ['light', 'dark'] as const

/** The pages that `docs/cards` shows pictures of. */
export function slackPictures(): CardPicture[] {
  return THEMES.flatMap((theme) =>
    SIX_VIEWS.map(({ name, view }) => ({
      file: `${name}-${theme}.png`,
      html: pageOf(drawBlocks(slackCard(view).blocks, theme), theme),
      width: 640,
    })),
  )
}

/** The same for Teams, as wide as in a conversation. */
export function teamsPictures(): CardPicture[] {
  return THEMES.flatMap((theme) =>
    SIX_VIEWS.map(({ name, view }) => ({
      file: `teams-${name}-${theme}.png`,
      html: cardPage([teamsCard(view).card], theme, true),
      width: 520,
    })),
  )
}

/** Hashes of the cards behind the pictures. */
export function drawnNow(): Record<string, string> {
  const drawn: [string, unknown][] = SIX_VIEWS.flatMap(({ name, view }) => [
    [name, slackCard(view).blocks],
    [`teams-${name}`, teamsCard(view).card],
  ])
  return Object.fromEntries(drawn.map(([name, card]) => [name, sha256(JSON.stringify(card))]))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
