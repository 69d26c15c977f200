import type { types } from '@slack/bolt'
import { ours } from '../../src/domain/card-parts.ts'
import type { CardView } from '../../src/domain/card-view.ts'
import { headParts } from '../../src/domain/head-parts.ts'
import { drawParts, richText } from './rich-text.ts'

/** The service's own statements about the request, outside the caller's frame (T44). */
export function cardHead(view: CardView): types.RichTextBlock {
  const { badges, lines, warnings, comment } = headParts(view)
  return richText(drawParts([ours(...badges, ...lines, ...warnings), ...comment]))
}
