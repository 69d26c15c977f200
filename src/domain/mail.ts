import { shortLine } from './cut-text.ts'
import type { News } from './push.ts'

/** A mail as it is sent: our words, and texts of others that are marked as theirs. */
export interface Mail {
  subject: string
  text: string
  html: string
}

/** The relay that accepts our mails. */
export interface MailRelay {
  readonly host: string
  readonly port: number
  /**
   * `starttls`: refuses to go on without it; `opportunistic`: uses it where the relay offers it, whatever its certificate, so that
   * only listeners are kept out.
   */
  readonly tls: 'implicit' | 'starttls' | 'opportunistic' | 'none'
  readonly login?: { readonly user: string; readonly password: string }
  readonly from: { readonly name: string; readonly address: string }
}

/** In UTF-16 units: enough to know a request again, too little to decide on. */
const QUOTE_LENGTH = 200

const NO_LINK = 'Nothing can be decided by e-mail. Replies are not read.'
const QUOTED = 'Written by the caller, not checked by Countersign:'

/**
 * Draws the mail that tells news. The subject is of our words alone, since programs that list mails show no frame. The link opens a
 * page that asks for the sign-in, and carries nothing that decides or signs in (T14).
 */
export function drawMail(news: News, baseUrl: string): Mail {
  const { title, quote, sentences } = news
  const shown = quote && { ...quote, text: inert(`${quote.warning}${shortLine(quote.text, QUOTE_LENGTH)}`) }
  const told = sentences.map(inert)
  const link = `${baseUrl}${news.url}`
  const settings = `${baseUrl}/account`
  return {
    subject: title,
    text: [
      `${title}.`,
      ...(shown ? [`${QUOTED}\n> ${shown.text}`] : []),
      told.join('\n'),
      `To see more, sign in: ${link}`,
      `${NO_LINK} What you are told: ${settings}`,
    ].join('\n\n'),
    html: page(title, [
      ...(shown ? [`<p>${QUOTED}</p><blockquote style="${FRAME}">${escaped(shown.text)}</blockquote>`] : []),
      ...told.map((sentence) => `<p>${escaped(sentence)}</p>`),
      `<p>To see more, sign in: <a href="${escaped(link)}">${escaped(link)}</a></p>`,
      `<p style="${SMALL}">${NO_LINK} What you are told: <a href="${escaped(settings)}">${escaped(settings)}</a></p>`,
    ]),
  }
}

/** Draws the mail that proves an address. It has no link: the code counts only in the session that asked for it. */
export function drawCodeMail(code: string, baseUrl: string): Mail {
  const title = `${code} is your code for notifications by e-mail`
  const sentences = [
    `Enter it on the page Account of ${baseUrl} within ${CODE_MINUTES} minutes, in the browser that asked for it.`,
    'It proves that this address is yours, and does nothing else. If you did not ask for it, ignore this mail.',
  ].map(inert)
  return {
    subject: title,
    text: [`${title}.`, sentences.join('\n')].join('\n\n'),
    html: page(
      title,
      sentences.map((sentence) => `<p>${escaped(sentence)}</p>`),
    ),
  }
}

/** How long a code that proves an address counts. */
export const CODE_MINUTES = 30

const FRAME =
  'margin:0 0 1em;padding:.5em 1em;border-left:4px solid #b45309;background:#fef3c7;color:#1c1917;white-space:pre-wrap;overflow-wrap:anywhere'
const SMALL = 'font-size:.875em;color:#57534e'

/** `format-detection` keeps programs from making links of numbers, dates and places. */
function page(title: string, parts: readonly string[]): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">',
    `<title>${escaped(title)}</title></head><body style="font-family:sans-serif;max-width:40em">`,
    `<h1 style="font-size:1.25em">${escaped(title)}</h1>`,
    ...parts,
    '</body></html>',
  ].join('\n')
}

/** Every character that some program takes for a full stop in a domain name (UTS 46 §2.3). */
const STOPS = '.\u3002\uff0e\uff61'

/**
 * Takes the parts out of a text by which mail programs find links to make: they do so in plain text and HTML alike, whatever the
 * sender wants, and a link of the caller's beside ours would be pressed (T90). Our own links are added later.
 */
export function inert(text: string): string {
  return text
    .replace(new RegExp(`(?<=[\\p{L}\\p{N}\\p{M}_-])[${STOPS}](?=[\\p{L}\\p{M}])`, 'gu'), '[.]')
    .replace(/(?<=\p{L})[:\uff1a](?=[^\s])/gu, '[:]')
    .replace(/(?<=\S)[@\uff20](?=\S)/gu, '[@]')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
