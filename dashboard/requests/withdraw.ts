import { get, post } from '../../webauthn-page/kit/api/request.ts'
import { button } from '../../webauthn-page/kit/dom/button.ts'
import { askFirst } from '../../webauthn-page/kit/dom/dialog.ts'
import type { NoticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { withFilters } from '../parts/filters.ts'
import { ENDS } from '../parts/rows.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { requestPageShape, withdrawnShape } from './request-shapes.ts'

/** The most requests that the service withdraws in one call. */
const AT_ONCE = 100

/** A button that withdraws these requests after a confirmation. The slot shows a failure. */
export function withdrawButton(
  label: string,
  ids: () => readonly string[],
  slot: NoticeSlot,
  { done }: Pick<PageContext, 'done'>,
): HTMLButtonElement {
  const withdraw = async (): Promise<void> => {
    // The list may grow while the confirmation is open.
    const wanted = [...ids()]
    const sure = await askFirst(
      wanted.length === 1 ? 'Withdraw this request?' : `Withdraw these ${wanted.length} requests?`,
      'Withdraw',
      'It takes effect at once and cannot be undone: no decision is made, and the caller is told that the request was withdrawn.',
    )
    if (!sure) return
    let count = 0
    for (let start = 0; start < wanted.length; start += AT_ONCE) {
      const part = { ids: wanted.slice(start, start + AT_ONCE) }
      count += (await post('/account/requests/withdraw', part, withdrawnShape)).withdrawn.length
    }
    await done(said(count, wanted.length))
  }
  return button(label, 'quiet', () => slot.attempt(withdraw), { class: ENDS })
}

function said(count: number, wanted: number): string {
  if (wanted === 1 && count === 0) return 'It was not withdrawn: it had been decided or had expired before.'
  if (count === wanted) return count === 1 ? 'The request is withdrawn.' : `${count} requests are withdrawn.`
  return `${count} of ${wanted} withdrawn. The others had been decided or had expired before.`
}

/** After a key is revoked or a person removed, shows the key's or the person's pending requests, if there are any. */
export async function showPendingRequests(
  context: PageContext,
  whose: readonly ['key' | 'person', string],
  message: string,
): Promise<void> {
  const filters = [['status', 'pending'], whose] as const
  const address = withFilters('/account/requests', [...filters, ['limit', '1']])
  const waits = await get(address, requestPageShape).then(
    ({ data, next_cursor }) => data.length > 0 || next_cursor !== null,
    // The list of requests will show the failure.
    () => true,
  )
  if (!waits) return context.done(message)
  await context.go(
    withFilters(context.href('/requests'), filters),
    `${message} These requests are still pending: withdraw those that must not be approved.`,
  )
}
