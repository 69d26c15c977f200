import type { Page } from 'playwright-core'
import { callWithKey, type LiveSetting } from './live.ts'
import { addKey, addPerson } from './people.ts'
import type { TestService } from './service.ts'

/** What the page shows of a verdict. */
export interface ShownVerdict {
  kind: string
  heading: string
  text: string
}

/** Opens the public page. */
export async function openVerify(page: Page, path = '/verify'): Promise<void> {
  await page.goto(path)
  await page.getByRole('heading', { name: 'Verify a receipt' }).waitFor()
}

/** Unfolds the place for a receipt and takes the focus there, away from an earlier verdict. */
export async function bringAnother(page: Page): Promise<void> {
  const field = page.getByLabel('Receipt, link or id')
  if (!(await field.isVisible())) await page.getByText('Add a receipt').click()
  await field.focus()
}

/** Pastes a text and has it checked. */
export async function paste(page: Page, text: string | object): Promise<void> {
  await bringAnother(page)
  const field = page.getByLabel('Receipt, link or id')
  await field.fill(typeof text === 'string' ? text : JSON.stringify(text))
  await page.getByRole('button', { name: 'Check', exact: true }).click()
}

/** Waits for the verdict, which takes the focus. */
export async function shownVerdict(page: Page): Promise<ShownVerdict> {
  const heading = page.locator('.verdict > h2:focus')
  await heading.waitFor()
  const box = page.locator('.verdict')
  const kind = (await box.getAttribute('class'))?.replace('verdict ', '') ?? ''
  return { kind, heading: await heading.innerText(), text: await box.innerText() }
}

/** The names of the checks in a state, such as `failed`. */
export function checksIn(page: Page, state: string): Promise<string[]> {
  const ofCard = ['.card > .checks', '.card > .checks-left > .checks']
  return page.locator(ofCard.map((list) => `${list} > .check-line.${state} strong`).join()).allInnerTexts()
}

/** The answer of `GET /approvals/:id` to the caller. */
export async function answerOf(
  { service, key }: Pick<LiveSetting, 'service' | 'key'>,
  id: string,
): Promise<Record<string, unknown>> {
  return Object(await (await callWithKey(service, key, `/${id}`)).json())
}

/** The body of the callback of a decided request. */
export function callbackOf(answer: Record<string, unknown>): object {
  const decision = Object(answer.decision)
  return {
    request_id: answer.id,
    decision: decision.decision,
    decided_at: decision.decided_at,
    signed_receipt: {
      decision_id: decision.id,
      signature: decision.signature,
      public_key_id: decision.public_key_id,
      canonical_payload: Buffer.from(decision.signed_payload, 'base64url').toString('utf8'),
      comment: decision.comment,
    },
  }
}

/** A program with a sandbox key, and the answer about a dry-run of it. */
export async function dryRun(service: TestService): Promise<Record<string, unknown>> {
  const user = await addPerson(service, 'sandbox@example.com')
  const { raw_key: key } = await addKey(service, user, { sandbox: true })
  const made = await callWithKey(service, key, '/request', {
    action: 'Try it out',
    sandbox_auto_decide_seconds: 0,
  })
  const id = String(Object(await made.json()).request_id)
  return answerOf({ service, key }, id)
}
