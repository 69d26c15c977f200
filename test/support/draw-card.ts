import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { EMOJI } from './draw-blocks.ts'

export type Theme = 'light' | 'dark'

const renderer = readFileSync(
  createRequire(import.meta.url).resolve('adaptivecards/dist/adaptivecards.min.js'),
  'utf8',
)

/** Colours of the two themes, after the host configurations that Microsoft publishes for Teams. */
const COLOURS = {
  light: {
    page: '#f5f5f5',
    card: '#ffffff',
    text: '#252424',
    subtle: '#616060',
    emphasis: '#f9f8f7',
    line: '#e1dfdd',
    button: '#ffffff',
    good: '#237b4b',
    attention: '#c4314b',
  },
  dark: {
    page: '#1f1f1f',
    card: '#2d2c2c',
    text: '#ffffff',
    subtle: '#c8c6c4',
    emphasis: '#232222',
    line: '#484644',
    button: '#2d2c2c',
    good: '#92c353',
    attention: '#f1707b',
  },
} as const

/** Grounds that are light in both themes; their text is dark. */
const GROUNDS = { accent: '#C7DEF9', good: '#CCFFCC', attention: '#FFC5B2', warning: '#FFE2B2' }

function style(backgroundColor: string, text: string, subtle: string) {
  const colours = { default: text, subtle }
  return { backgroundColor, foregroundColors: { default: colours, accent: colours, attention: colours } }
}

function hostConfig(theme: Theme): object {
  const { card, text, subtle, emphasis, line } = COLOURS[theme]
  const sizes = { small: 12, default: 14, medium: 14, large: 18, extraLarge: 24 }
  const weights = { lighter: 200, default: 400, bolder: 600 }
  const font = (fontFamily: string) => ({ fontFamily, fontSizes: sizes, fontWeights: weights })
  const grounds = Object.entries(GROUNDS).map(([name, ground]) => [
    name,
    style(ground, COLOURS.light.text, '#3b3a39'),
  ])
  return {
    supportsInteractivity: true,
    textBlock: { headingLevel: 2 },
    spacing: { small: 8, default: 12, medium: 16, large: 20, extraLarge: 24, padding: 16 },
    separator: { lineThickness: 1, lineColor: line },
    fontTypes: { default: font('"Segoe UI", system-ui, sans-serif'), monospace: font('monospace') },
    containerStyles: {
      default: style(card, text, subtle),
      emphasis: style(emphasis, text, subtle),
      ...Object.fromEntries(grounds),
    },
    actions: {
      maxActions: 6,
      spacing: 'default',
      buttonSpacing: 8,
      actionsOrientation: 'horizontal',
      actionAlignment: 'left',
    },
  }
}

function css(theme: Theme): string {
  const { page, card, text, line, button, good, attention } = COLOURS[theme]
  return `body { margin: 0; padding: 14px; background: ${page}; }
    .card { background: ${card}; border-radius: 6px; }
    .card + .card { margin-top: 14px; }
    .ac-pushButton { font: 600 14px system-ui, sans-serif; color: ${text}; background: ${button}; padding: 6px 16px;
      border: 1px solid ${line}; border-radius: 4px; margin-bottom: 4px; }
    .ac-pushButton.style-positive { color: ${good}; border-color: ${good}; }
    .ac-pushButton.style-destructive { color: ${attention}; border-color: ${attention}; }`
}

/** Puts pictures where most machines have no font; for looking at only, since it takes the signs out of the text. */
const PAINT = `const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const texts = []
    while (walker.nextNode()) if (walker.currentNode.parentNode.tagName !== 'SCRIPT') texts.push(walker.currentNode)
    for (const node of texts) {
      const html = signs.reduce((all, [sign, svg]) => all.replaceAll(sign, svg),
        node.data.replaceAll('&', '&amp;').replaceAll('<', '&lt;'))
      node.replaceWith(document.createRange().createContextualFragment(html))
    }`

/**
 * A page on which Microsoft's own renderer draws cards, in colours like those of Teams and without a rule that hides what
 * has no room. What it takes for Markdown is made HTML as it is, but for bold words: a caller's text that got there would be
 * seen to run. `window.drawn` tells what that was, what the renderer
 * complained of, and which buttons were pressed. `painted`: for pictures.
 */
export function cardPage(cards: readonly object[], theme: Theme, painted = false): string {
  const data = JSON.stringify({ cards, config: hostConfig(theme), signs: Object.entries(EMOJI) }).replaceAll(
    '<',
    '\\u003c',
  )
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Cards</title><style>${css(theme)}</style>
    <body><script>${renderer}</script><script>
    const { cards, config, signs } = ${data}
    window.drawn = { markdown: [], complaints: [], pressed: [] }
    AdaptiveCards.AdaptiveCard.onProcessMarkdown = (text, result) => {
      drawn.markdown.push(text)
      result.outputHtml = text.replace(/\\*\\*(.+?)\\*\\*/g, '<strong>$1</strong>')
      result.didProcess = true
    }
    AdaptiveCards.AdaptiveCard.onExecuteAction = ({ title, url, verb, data }) => {
      drawn.pressed.push({ title, url, verb, data })
    }
    for (const json of cards) {
      const card = new AdaptiveCards.AdaptiveCard()
      const context = new AdaptiveCards.SerializationContext(AdaptiveCards.Versions.v1_5)
      card.hostConfig = new AdaptiveCards.HostConfig(config)
      card.parse(json, context)
      for (let at = 0; at < context.eventCount; at += 1) drawn.complaints.push(context.getEventAt(at).message)
      const element = card.render()
      element.className += ' card'
      document.body.append(element)
    }
    ${painted ? PAINT : ''}
    </script></body></html>`
}
