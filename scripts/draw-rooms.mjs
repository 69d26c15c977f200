// Draws docs/architecture.svg: the rooms, from the ground up as in FLOORS, and what they import from each other by the sources.
import { FLOORS, ROOMS, sourcesIn } from './imports.mjs'

/** A few words on each room: all the picture has place for. The table beside it says more. */
const WORDS = {
  domain: 'pure rules',
  config: 'settings',
  ports: 'what is given',
  outbound: 'guarded sending',
  signing: 'keys, receipts',
  store: 'MongoDB',
  flow: 'the verbs',
  http: 'endpoints',
  jobs: 'sweeps',
  compose: 'puts together',
  'serve.ts': 'one service',
  'main.ts': 'starts it',
  cli: 'commands',
  adapters: 'Slack, Teams',
  'embedded-mongo': 'a package',
  kit: 'of all pages',
  'webauthn-page': 'hosted pages',
  dashboard: 'in the browser',
  client: 'for callers',
  'deps.ts': 'what verbs get',
  queue: 'claims, leases',
  people: 'sign-in, factors',
  keys: 'API and signing',
  requests: 'create to settle',
  audit: 'the trail',
  bootstrap: 'agents ask',
  tell: 'cards, pushes',
  erase: 'retention',
  relay: 'outbox to queues',
  webhooks: 'deliveries',
  chat: 'commands, links',
  joining: 'invite, enrol',
  restore: 'take up a copy',
}

const WIDTH = 460
const ROW = 64
const BOX = 42

/** Draws both halves: the rooms of the repository, and below them those of `src/flow`. @returns SVG that ends with a line break */
export function drawRooms() {
  const files = ROOMS.flatMap(sourcesIn)
  const house = drawGraph(edgesBetween(files, houseRoom), FLOORS.src, 42)
  const flow = drawGraph(edgesBetween(files, flowRoom), FLOORS['src/flow'], house.bottom + 62)
  return `${HEAD.replaceAll('HEIGHT', String(flow.bottom + 12))}
<rect class="back" width="100%" height="100%" rx="10"/>
<text class="h" x="16" y="24">src, adapters and the other packages</text>
${house.svg}
<path class="rule" d="M16 ${house.bottom + 14}H${WIDTH - 16}"/>
<text class="h" x="16" y="${house.bottom + 46}">inside src/flow</text>
${flow.svg}
</svg>
`
}

function houseRoom(path) {
  const [top, room] = path.split('/')
  if (top === 'src') return room
  if (top === 'packages' || room === 'kit') return room
  return ROOMS.some((folder) => path.startsWith(`${folder}/`)) ? top : undefined
}

function flowRoom(path) {
  return path.startsWith('src/flow/') ? path.split('/')[2] : undefined
}

/** What each room imports of other rooms: name → name → whether it imports types alone. */
function edgesBetween(files, roomOf) {
  const edges = new Map()
  for (const { path, imports } of files) {
    const from = roomOf(path)
    if (from === undefined) continue
    if (!edges.has(from)) edges.set(from, new Map())
    for (const { target, typeOnly } of imports) {
      const to = roomOf(target)
      if (to === undefined || to === from) continue
      edges.get(from).set(to, typeOnly && (edges.get(from).get(to) ?? true))
    }
  }
  return edges
}

/** Leaves out each arrow that a longer way of arrows already implies; a solid arrow only if that way is solid. */
function reduce(edges) {
  const reaches = (from, to, solid, direct) =>
    [...(edges.get(from) ?? [])].some(
      ([next, types]) =>
        !(solid && types) && !(direct && next === to) && (next === to || reaches(next, to, solid, false)),
    )
  return [...edges].flatMap(([from, targets]) =>
    [...targets]
      .filter(([to, types]) => !reaches(from, to, !types, true))
      .map(([to, types]) => ({ from, to, types })),
  )
}

function drawGraph(edges, floors, top) {
  const order = (name) => (floors.includes(name) ? floors.indexOf(name) : floors.length)
  const names = [...edges.keys()].sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1))
  const levels = new Map()
  const level = (name) => {
    if (!levels.has(name)) levels.set(name, Math.max(-1, ...[...edges.get(name).keys()].map(level)) + 1)
    return levels.get(name)
  }
  const height = Math.max(...names.map(level))
  const nodes = names.map((name) => ({
    name,
    row: height - level(name),
    width: boxWidth(name),
    up: [],
    down: [],
  }))
  const ways = reduce(edges).map((arrow) => layWay(nodes, arrow))
  const rows = Array.from({ length: height + 1 }, (_, row) => nodes.filter((node) => node.row === row))
  arrange(rows)
  const y = (row) => top + row * ROW
  const svg = [
    ...ways.map(({ stops, types }) => drawWay(stops, types, y)),
    ...nodes.filter(({ name }) => name !== undefined).map((node) => drawBox(node, y(node.row))),
  ]
  return { svg: svg.join('\n'), bottom: y(height) + BOX }
}

function boxWidth(name) {
  if (WORDS[name] === undefined)
    throw new Error(`${name} is a new room; give it words in scripts/draw-rooms.mjs`)
  return Math.round(Math.max(name.length * 9, WORDS[name].length * 6.6) + 22)
}

/** Gives an arrow that passes rows a place in each of them, so that it goes round the boxes there. */
function layWay(nodes, { from, to, types }) {
  const [start, end] = [from, to].map((wanted) => nodes.find(({ name }) => name === wanted))
  const stops = [start]
  for (let row = start.row + 1; row < end.row; row += 1) {
    const stop = { row, width: 2, up: [], down: [] }
    nodes.push(stop)
    stops.push(stop)
  }
  stops.push(end)
  for (const [index, stop] of stops.slice(1).entries()) {
    stops[index].down.push(stop)
    stop.up.push(stops[index])
  }
  return { stops, types }
}

/** Orders each row by the middle of its neighbours, in turns downwards and upwards, and keeps the order with fewest crossings, in the middle of the picture. */
function arrange(rows) {
  for (const row of rows) place(row, () => WIDTH / 2)
  let best
  for (let turn = 0; turn < 40; turn += 1) {
    const side = turn % 2 === 0 ? 'up' : 'down'
    for (const row of side === 'up' ? rows : rows.toReversed()) {
      const wanted = new Map(row.map((node) => [node, middleOf(node[side]) ?? node.x]))
      row.sort((a, b) => wanted.get(a) - wanted.get(b))
      place(row, (node) => wanted.get(node))
    }
    const cost = crossings(rows) * 1_000 + slant(rows)
    if (best === undefined || cost < best.cost)
      best = { cost, rows: rows.map((row) => row.map((node) => ({ node, x: node.x }))) }
  }
  const sides = best.rows.flat().flatMap(({ node, x }) => [x - node.width / 2, x + node.width / 2])
  const aside = (WIDTH - Math.min(...sides) - Math.max(...sides)) / 2
  for (const row of best.rows) for (const { node, x } of row) node.x = Math.round(x + aside)
}

function middleOf(nodes) {
  return nodes.length === 0 ? undefined : nodes.reduce((sum, { x }) => sum + x, 0) / nodes.length
}

const GAP = 14
const EDGE = 10

/** Puts the nodes of a row as near to where they want to be as their order, their widths and the edges of the picture let them. */
function place(row, wanted) {
  const least = (a, b) => (a.width + b.width) / 2 + GAP
  for (const node of row) node.x = wanted(node)
  for (let turn = 0; turn < 30; turn += 1) {
    for (const [index, node] of row.entries()) {
      const before = row[index - 1]
      const lack = before === undefined ? 0 : before.x + least(before, node) - node.x
      if (lack > 0) {
        before.x -= lack / 2
        node.x += lack / 2
      }
    }
  }
  row.reduce((edge, node) => {
    node.x = Math.max(node.x, edge + node.width / 2)
    return node.x + node.width / 2 + GAP
  }, EDGE)
  row.reduceRight((edge, node) => {
    node.x = Math.min(node.x, edge - node.width / 2)
    return node.x - node.width / 2 - GAP
  }, WIDTH - EDGE)
}

function crossings(rows) {
  const pairs = rows.flatMap((row) => {
    const lines = row.flatMap((node) => node.down.map(({ x }) => [node.x, x]))
    return lines.flatMap(([a, b], index) => lines.slice(index + 1).filter(([c, d]) => (a - c) * (b - d) < 0))
  })
  return pairs.length
}

function slant(rows) {
  return rows
    .flat()
    .reduce((sum, node) => sum + node.down.reduce((all, { x }) => all + Math.abs(x - node.x), 0), 0)
}

/** Draws an arrow: straight down beside the boxes it passes, bent between the rows. */
function drawWay(stops, types, y) {
  const [first, ...rest] = stops
  let path = `M${leaves(first, rest[0])} ${y(first.row) + BOX}`
  for (const [index, stop] of rest.entries()) {
    const before = stops[index]
    const from = index === 0 ? leaves(first, stop) : before.x
    const last = index === rest.length - 1
    const to = last ? leaves(stop, before) : stop.x
    const [a, b] = [y(before.row) + BOX, y(stop.row) - (last ? 3 : 0)]
    path += `C${from} ${(a + b) / 2} ${to} ${(a + b) / 2} ${to} ${b}${last ? '' : `V${b + BOX}`}`
  }
  return `<path class="${types ? 'line types' : 'line'}" d="${path}"/>`
}

/** Where an arrow leaves or reaches a box: towards the other end, so that several do not share one point. */
function leaves(box, { x }) {
  const reach = box.width / 2 - 12
  return Math.round(box.x + Math.max(-reach, Math.min(reach, (x - box.x) / 3)))
}

function drawBox({ name, x, width }, y) {
  const box = `<rect class="box" x="${x - width / 2}" y="${y}" width="${width}" height="${BOX}" rx="8"/>`
  return `${box}<text class="b" x="${x}" y="${y + 18}">${name}</text><text class="s" x="${x}" y="${y + 34}">${WORDS[name]}</text>`
}

const HEAD = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} HEIGHT" width="${WIDTH}" height="HEIGHT" role="img" aria-labelledby="t d" font-family="system-ui, sans-serif" font-size="14">
<title id="t">The rooms of Countersign, and what imports what</title>
<desc id="d">Two pictures of boxes and arrows. Every arrow leads downwards, from a room to one it imports. Dashed arrows are imports of types alone. An arrow is left out where a longer way of arrows leads to the same room. Above: the rooms of src, the adapters and the other packages, with domain at the bottom. Below: the rooms of src/flow, with joining and the like at the top.</desc>
<style>
.back { fill: #fff } .box { fill: #f5f7fa; stroke: #5b6b7f; stroke-width: 1.5 } .rule { stroke: #c5ced9 }
.line { stroke: #5b6b7f; stroke-width: 1.4; fill: none; marker-end: url(#head) } .types { stroke-dasharray: 4 4 } .head { fill: #5b6b7f }
text { fill: #16202c; text-anchor: middle } .b, .h { font-weight: 600 } .h { text-anchor: start } .s { fill: #46566a; font-size: 12px }
@media (prefers-color-scheme: dark) {
.back { fill: #0d1117 } .box { fill: #1b2430; stroke: #8ea0b5 } .rule { stroke: #3a4655 }
.line { stroke: #8ea0b5 } .head { fill: #8ea0b5 } text { fill: #eef3f9 } .s { fill: #b6c4d4 }
}
</style>
<defs><marker id="head" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0 10 5 0 10z"/></marker></defs>`
