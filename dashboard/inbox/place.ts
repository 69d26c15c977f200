import { isRecord } from '../../webauthn-page/kit/api/shape.ts'
import { keep, kept } from '../../webauthn-page/kit/dom/kept.ts'

const PLACE = 'inbox-place'
const TICKED = 'inbox-ticked'

/**
 * Checks whether the person comes back to a place in the list, to a selection or to filters. All pages then load before the list is
 * shown; else the first is shown at once.
 */
export function comesBack(): boolean {
  const state: unknown = history.state
  const scrolled = isRecord(state) && typeof state.scroll === 'number' && state.scroll > 0
  return scrolled || location.search !== '' || remembered(TICKED).length > 1 || rememberedPlace().place > 0
}

/** Keeps words for the way back from the page of a request, which is a separate document. */
function remember(what: string, words: readonly string[]): void {
  keep('sessionStorage', what, words.join(' '))
}

/** Returns the kept words. A browser without storage begins at the top, with nothing ticked. */
function remembered(what: string): string[] {
  return kept('sessionStorage', what)?.split(' ') ?? []
}

/** Keeps the chosen request, and its position among the rows shown. */
export function rememberPlace(id: string, place: number): void {
  remember(PLACE, [id, String(place)])
}

/** Returns what `rememberPlace` kept. */
export function rememberedPlace(): { id: string | undefined; place: number } {
  const [id, place] = remembered(PLACE)
  return { id, place: Number(place ?? 0) }
}

/** Keeps the ids that this person ticked. */
export function rememberTicks(actor: string, ids: readonly string[]): void {
  remember(TICKED, [actor, ...ids])
}

/** The ids that this person ticked; those that another person ticked in this tab are ignored. */
export function rememberedTicks(actor: string): string[] {
  const [author, ...ids] = remembered(TICKED)
  return author === actor ? ids : []
}
