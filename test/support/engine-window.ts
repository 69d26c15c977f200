import { vi } from 'vitest'
import { EngineCrash, type Send } from './engines.ts'
import { PATIENCE_MS } from './patience.ts'

/** Finds what is seen by the name that it has for assistive technology: of a button, link, box, or (`labelled`) of a field. */
const FIND = `
  const [name, labelled] = arguments
  const seen = (element) => element?.getClientRects().length > 0
  const nameOf = (element) => element.getAttribute('aria-label') ?? element.labels?.[0]?.innerText ?? element.innerText
  const kinds = labelled ? '.input, textarea, select' : 'button, a, summary, input[type=checkbox], input[type=radio]'
  return [...document.querySelectorAll(kinds)].find((element) =>
    seen(element) && nameOf(element).replace(/\\s+/g, ' ').trim() === name) ?? null`

/** Key of an element's id in answers, by the W3C's WebDriver. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'

/** A page as the person at it meets it: what is seen, and real presses and keys. */
export class EngineWindow {
  readonly #send: Send
  readonly #origin: string

  constructor(send: Send, origin: string) {
    this.#send = send
    this.#origin = origin
  }

  /** Forgets who was here, and takes these cookies on. */
  async become(cookies: ReadonlyMap<string, string>): Promise<void> {
    await this.open('/verify')
    await this.#send('WebDriver:DeleteAllCookies')
    for (const [name, value] of cookies)
      await this.#send('WebDriver:AddCookie', { cookie: { name, value, path: '/' } })
  }

  async open(path: string): Promise<void> {
    await this.#send('WebDriver:Navigate', { url: new URL(path, this.#origin).href })
  }

  /** Waits for a page that a press leads to, without a script in it: WebKitGTK's process ends most times when one runs meanwhile. */
  async arrives(path: string): Promise<void> {
    await eventually(async () => {
      const url = String(await this.#send('WebDriver:GetCurrentURL'))
      if (new URL(url).pathname !== path) throw new Error(`still at ${url}`)
    })
  }

  async back(): Promise<void> {
    await this.#send('WebDriver:Back')
  }

  async resize(width: number, height: number): Promise<void> {
    await this.#send('WebDriver:SetWindowRect', { width, height })
  }

  async picture(): Promise<Buffer> {
    return Buffer.from(String(await this.#send('WebDriver:TakeScreenshot')), 'base64')
  }

  /** The body of a function that runs in the page. */
  run(script: string, ...args: unknown[]): Promise<unknown> {
    return this.#send('WebDriver:ExecuteScript', { script, args })
  }

  /** Presses the button or link of this name, as soon as it is there. */
  async press(name: string): Promise<void> {
    await this.#send('WebDriver:ElementClick', { id: await this.#find(name, false) })
  }

  async fill(label: string, text: string): Promise<void> {
    await this.#send('WebDriver:ElementSendKeys', { id: await this.#find(label, true), text })
  }

  async #find(name: string, labelled: boolean): Promise<string> {
    return eventually(async () => {
      const found = Object(await this.run(FIND, name, labelled))[ELEMENT]
      if (typeof found !== 'string') throw new Error(`no “${name}” in:\n${await this.text()}`)
      return found
    })
  }

  /** All text that is shown. */
  async text(): Promise<string> {
    return String(await this.run('return document.body.innerText'))
  }

  /** Waits until the function with this body returns true. */
  async holds(script: string): Promise<void> {
    await eventually(async () => {
      if ((await this.run(script)) !== true) throw new Error(`not yet so: ${script}`)
    })
  }

  /** What the first one shows that the selector finds. */
  async textOf(selector: string): Promise<string> {
    return String(await this.run('return document.querySelector(arguments[0]).innerText', selector))
  }

  /** Waits until the text is shown. */
  async sees(text: string): Promise<void> {
    await eventually(async () => {
      const shown = await this.text()
      if (!shown.includes(text)) throw new Error(`no “${text}” in:\n${shown}`)
    })
  }
}

/** A poll ends as soon as it holds, or the browser has ended. @throws EngineCrash */
async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const tried = (): Promise<T | EngineCrash> =>
    attempt().catch((error: unknown) => {
      if (error instanceof EngineCrash) return error
      throw error
    })
  const outcome = await vi.waitFor(tried, { timeout: PATIENCE_MS, interval: 100 })
  if (outcome instanceof EngineCrash) throw outcome
  return outcome
}
