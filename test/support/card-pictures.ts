import { createHash } from 'node:crypto'
import { renderCard } from '../../adapters/slack/blocks.ts'
import { SIX_VIEWS } from './card-samples.ts'
import { drawBlocks, pageOf } from './draw-blocks.ts'

const THEMES = ['light', 'dark'] as const

/** The pages that `docs/cards` shows pictures of. */
export function cardPictures(): { file: string; html: string }[] {
  return THEMES.flatMap((theme) =>
    SIX_VIEWS.map(({ name, view }) => ({
      file: `${name}-${theme}.png`,
      html: pageOf(drawBlocks(renderCard(view).blocks, theme), theme),
    })),
  )
}

/** Hashes of the blocks behind the pictures. */
export function drawnNow(): Record<string, string> {
  return Object.fromEntries(
    SIX_VIEWS.map(({ name, view }) => [
      name,
      createHash('sha256')
        .update(JSON.stringify(renderCard(view).blocks))
        .digest('hex'),
    ]),
  )
}
