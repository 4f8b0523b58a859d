import type { Child, FC } from 'hono/jsx'

// Drawn by hand, coloured by the style sheet's properties: the same lines are a morning in light and a night in dark.
// They decorate: everything they show is said in words beside them.

/** The poppy of the name plate. */
export function Poppy() {
  return (
    <svg class="poppy" viewBox="-14 -13 28 38" aria-hidden="true">
      <Flower x={0} y={0} size={1} />
    </svg>
  )
}

type Spot = { readonly x: number; readonly y: number; readonly size: number }

function Flower({ x, y, size }: Spot) {
  return (
    <g transform={`translate(${x} ${y}) scale(${size})`}>
      <path d="M0 4C-1 12 1 18-2 34" fill="none" stroke="var(--leaf)" stroke-width="1.6" />
      <path d="M-13-1c-1-6 5-10 9-8 2-3 7-3 9 0 5-2 10 3 8 8 0 6-6 10-13 10S-13 5-13-1z" fill="var(--flower)" />
      <path d="M-12 1c4-4 8-2 12-2s9-2 12 2c-1 5-6 8-12 8s-11-3-12-8z" fill="var(--flower-deep)" />
      <ellipse cy="-1.5" rx="3.6" ry="2.6" fill="var(--flower-heart)" />
    </g>
  )
}

function Lighthouse({ x, y, size }: Spot) {
  return (
    <g transform={`translate(${x} ${y}) scale(${size})`}>
      <path d="M-7 0-5-44h10L7 0z" fill="var(--wall)" />
      <path d="M-6.3-14h12.6l.6 8H-6.9zM-5.5-30h11l.5 8H-6z" fill="var(--roof)" />
      <path d="M-6-46H6v2H-6z" fill="var(--ink-soft)" />
      <path d="M-3.5-54h7v8h-7z" fill="var(--lamp)" />
      <path d="M-5-54 0-60l5 6z" fill="var(--roof)" />
    </g>
  )
}

function Sail({ x, y, size }: Spot) {
  return (
    <g transform={`translate(${x} ${y}) scale(${size})`}>
      <path d="M0-34V-4h-18z" fill="var(--wall)" />
      <path d="M3-28V-4h13z" fill="var(--wall-shade)" />
      <path d="M-20-2h38l-6 8h-26z" fill="var(--flower)" />
    </g>
  )
}

function FishingBoat({ x, y, size }: Spot) {
  return (
    <g transform={`translate(${x} ${y}) scale(${size})`}>
      <path d="M6-46v44" stroke="var(--ink-soft)" stroke-width="2" />
      <path d="M6-42 30-4M6-42-22-4" stroke="var(--ink-soft)" stroke-width=".8" />
      <path d="M-14-16h14v14h-14z" fill="var(--wall)" />
      <path d="M-11-12h8v5h-8z" fill="var(--pane)" />
      <path d="M-34-4C-20 0 18 0 34-8c-2 10-6 16-12 18h-44c-7-2-11-7-12-14z" fill="var(--boat)" />
      <path d="M-34-4C-20 0 18 0 34-8l-1 4C18 3-20 3-33.5-1z" fill="var(--wall)" />
    </g>
  )
}

/** House front with a row of windows; the hotel is the tall one. */
function House(props: Spot & { readonly width: number; readonly height: number; readonly windows: readonly Point[] }) {
  const { x, y, width, height, windows } = props
  return (
    <g transform={`translate(${x} ${y})`}>
      <path d={`M0 ${-height}h${width}V0H0z`} fill="var(--wall)" />
      <path d={`M${width * 0.78} ${-height}h${width * 0.22}V0h-${width * 0.22}z`} fill="var(--wall-shade)" />
      <path d={`M-5 ${-height}h${width + 10}l-12-14H7z`} fill="var(--roof)" />
      {windows.map(([wx, wy]) => (
        <path d={`M${wx} ${-wy}h11v17h-11z`} fill="var(--pane)" />
      ))}
    </g>
  )
}

type Point = readonly [x: number, y: number]

const MEADOW: readonly Spot[] = [
  { x: 60, y: 452, size: 1.3 },
  { x: 128, y: 478, size: 0.9 },
  { x: 196, y: 446, size: 1 },
  { x: 262, y: 484, size: 1.4 },
  { x: 352, y: 470, size: 0.8 },
  { x: 446, y: 490, size: 1.1 },
  { x: 560, y: 496, size: 0.8 },
  { x: 690, y: 494, size: 1.2 },
  { x: 812, y: 500, size: 0.8 },
  { x: 905, y: 492, size: 1 },
]

// Seen by night only.
const STARS: readonly Point[] = [
  [140, 60],
  [290, 130],
  [420, 50],
  [560, 110],
  [690, 40],
  [930, 70],
  [1040, 150],
  [1150, 50],
  [1290, 110],
  [1410, 40],
  [1530, 90],
]

/** The bay in front of the house, across the top of the home page. */
export function Bay() {
  return (
    <svg class="bay" viewBox="0 0 1600 520" preserveAspectRatio="xMaxYMax slice" aria-hidden="true">
      <path d="M0 0h1600v520H0z" fill="var(--sky)" />
      <path d="M0 190h1600v120H0z" fill="var(--haze)" />
      {STARS.map(([cx, cy]) => (
        <circle cx={cx} cy={cy} r="2" fill="var(--star)" />
      ))}
      <circle cx="800" cy="196" r="54" fill="var(--sun)" />
      <path d="M0 280c120-50 210-58 330-26 60 16 100 18 150 46H0z" fill="var(--far)" />
      <path d="M1600 268c-150-50-300-20-420 14-50 14-70 14-110 20h530z" fill="var(--far)" />
      <Lighthouse x={300} y={252} size={1.2} />
      <path d="M0 300h1600v220H0z" fill="var(--sea)" />
      <path d="M750 304h100M766 316h68M740 330h88M778 344h60" stroke="var(--glint)" stroke-width="4" />
      <path d="M0 352c180-16 330 12 520 2s420-16 620 0 300 8 460-4v170H0z" fill="var(--sea-near)" />
      <path d="M120 372h90M420 398h120M760 384h70M980 412h120" stroke="var(--glint-soft)" stroke-width="3" />
      <Sail x={962} y={336} size={1} />
      <Sail x={560} y={322} size={0.6} />
      <path d="M1600 250c-90-14-200 20-280 90-60 50-150 74-240 88v92h520z" fill="var(--land)" />
      <House x={1130} y={420} size={1} width={62} height={66} windows={twoBy(2, 40, 12)} />
      <House x={1398} y={398} size={1} width={74} height={92} windows={twoBy(2, 66, 16)} />
      <House x={1210} y={412} size={1} width={168} height={146} windows={HOTEL_WINDOWS} />
      <path d="M1254 412v-30a10 10 0 0 1 20 0v30z" fill="var(--flower)" />
      <path d="M1240 326h108v5h-108z" fill="var(--flower)" />
      <House x={1494} y={378} size={1} width={80} height={70} windows={twoBy(3, 46, 12)} />
      <path d="M1080 428c150-22 330-34 520-40v132H1010c14-50 30-82 70-92z" fill="var(--quay)" />
      <FishingBoat x={1010} y={446} size={1.1} />
      <path d="M0 420c170-30 330 8 500 50 190 46 330 20 500 50H0z" fill="var(--meadow)" />
      {MEADOW.map((spot) => (
        <Flower {...spot} />
      ))}
    </svg>
  )
}

// Six windows, as many as the house has rooms.
const HOTEL_WINDOWS: readonly Point[] = [
  [24, 122],
  [64, 122],
  [104, 122],
  [24, 72],
  [84, 40],
  [104, 72],
]

function twoBy(count: number, y: number, from: number): readonly Point[] {
  return Array.from({ length: count }, (_, index) => [from + index * 22, y] as const)
}

const VIEWS: Readonly<Record<string, { readonly name: string; readonly tint: string; readonly scene: FC }>> = {
  sea: { name: 'The open sea, to the east', tint: 'var(--tint-a)', scene: SeaScene },
  harbour: { name: 'The fishing harbour', tint: 'var(--tint-b)', scene: HarbourScene },
  lighthouse: { name: 'The bay and the lighthouse', tint: 'var(--tint-c)', scene: LighthouseScene },
  courtyard: { name: 'The courtyard and the lemon tree', tint: 'var(--tint-d)', scene: CourtyardScene },
  garden: { name: 'The garden and the slope behind it', tint: 'var(--tint-e)', scene: GardenScene },
  rooftops: { name: 'The roofs of the town, then the sea', tint: 'var(--tint-f)', scene: RooftopScene },
}

/** What a room looks out on, in words. */
export function viewName(view: string): string {
  return VIEWS[view]?.name ?? view
}

/** What you see from a room's window. */
export function RoomView({ view }: { readonly view: string }) {
  const { tint, scene: Scene } = VIEWS[view] ?? { tint: 'var(--tint-a)', scene: SeaScene }
  return (
    <svg class="view" viewBox="0 0 400 300" aria-hidden="true">
      <path d="M0 0h400v300H0z" fill={tint} />
      <path d="M58 34h284v206H58z" fill="var(--frame)" />
      <Pane x={66}>
        <Scene />
      </Pane>
      <path d="M197 42h6v190h-6zM66 104h268v5H66z" fill="var(--frame)" />
      <path d="M44 240h312v12H44z" fill="var(--frame)" />
      <path d="M44 252h312v4H44z" fill="var(--frame-shade)" />
      <path d="M30 24h340" stroke="var(--frame-shade)" stroke-width="4" stroke-linecap="round" />
      <path d="M40 24h52c2 70-6 140-34 206-10 4-18 4-26 2 8-70 10-140 8-208z" fill="var(--curtain)" />
      <path d="M58 24c2 74-2 140-12 206M76 24c0 60-6 120-22 180" fill="none" stroke="var(--frame-shade)" />
    </svg>
  )
}

// A nested picture cuts off at its own edge: that is the window.
function Pane({ x, children }: { readonly x: number; readonly children?: Child }) {
  return (
    <svg x={x} y="42" width="268" height="190" viewBox="0 0 268 190" aria-hidden="true">
      <path d="M0 0h268v190H0z" fill="var(--sky)" />
      {children}
    </svg>
  )
}

function SeaScene() {
  return (
    <>
      <path d="M0 60h268v50H0z" fill="var(--haze)" />
      <circle cx="176" cy="92" r="26" fill="var(--sun)" />
      <path d="M0 104h268v86H0z" fill="var(--sea)" />
      <path d="M150 108h52M160 116h32M148 125h46" stroke="var(--glint)" stroke-width="3" />
      <path d="M0 142c50-10 90 6 140 0s80-8 128 0v48H0z" fill="var(--sea-near)" />
      <path d="M64 164h38M188 172h46" stroke="var(--glint-soft)" stroke-width="2.5" />
      <Sail x={100} y={126} size={0.7} />
    </>
  )
}

function HarbourScene() {
  return (
    <>
      <path d="M0 70c40-24 100-26 150-4 40 16 80 14 118 6v40H0z" fill="var(--far)" />
      <path d="M0 98h268v92H0z" fill="var(--sea)" />
      <path d="M150 96h118v9H158z" fill="var(--quay)" />
      <path d="M0 150c60-8 120 6 268-4v44H0z" fill="var(--sea-near)" />
      <path d="M34 122h40M196 126h38M110 166h50" stroke="var(--glint-soft)" stroke-width="2.5" />
      <FishingBoat x={84} y={136} size={0.9} />
      <FishingBoat x={190} y={160} size={1.15} />
    </>
  )
}

function LighthouseScene() {
  return (
    <>
      <path d="M0 70h268v40H0z" fill="var(--haze)" />
      <path d="M268 84c-40-14-70-8-100 12-16 10-34 12-50 16h150z" fill="var(--far)" />
      <Lighthouse x={206} y={94} size={1.25} />
      <path d="M0 110h268v80H0z" fill="var(--sea)" />
      <path d="M0 140c60-8 120 6 268-2v52H0z" fill="var(--sea-near)" />
      <path d="M40 126h44M130 158h60M30 168h36" stroke="var(--glint-soft)" stroke-width="2.5" />
      <path d="M0 156c40-12 70 2 96 34H0z" fill="var(--land)" />
      <Sail x={110} y={128} size={0.55} />
    </>
  )
}

const LEMONS = [
  [118, 62],
  [150, 48],
  [172, 78],
  [136, 86],
  [186, 58],
  [158, 100],
] as const

function CourtyardScene() {
  return (
    <>
      <path d="M0 0h268v150H0z" fill="var(--wall)" />
      <path d="M0 0h268v14H0z" fill="var(--roof)" />
      <path d="M26 150V92a24 24 0 0 1 48 0v58z" fill="var(--boat)" />
      <path d="M49 70h2v80h-2z" fill="var(--wall-shade)" />
      <path d="M0 150h268v40H0z" fill="var(--quay)" />
      <path d="M0 170h268M60 150l-20 40M134 150v40M208 150l20 40" stroke="var(--wall-shade)" stroke-width="1.5" />
      <path d="M150 150c4-20 0-40 2-60" stroke="var(--trunk)" stroke-width="8" fill="none" />
      <path
        d="M100 80c-12-26 14-50 36-46 14-20 52-14 56 10 22 6 26 36 8 48-6 18-36 22-48 12-18 10-46 0-52-24z"
        fill="var(--land)"
      />
      {LEMONS.map(([cx, cy]) => (
        <ellipse cx={cx} cy={cy} rx="6" ry="7.5" fill="var(--lemon)" />
      ))}
      <path d="M126 150h52l-7 24h-38z" fill="var(--roof)" />
    </>
  )
}

function GardenScene() {
  return (
    <>
      <path d="M0 62h268v30H0z" fill="var(--sea)" />
      <path d="M0 84c60-22 130-8 268 10v96H0z" fill="var(--land)" />
      <path d="M268 70c-50 4-90 30-130 58-40 26-90 40-138 40v22h268z" fill="var(--meadow)" />
      <Flower x={42} y={146} size={0.8} />
      <Flower x={92} y={138} size={0.7} />
      <Flower x={140} y={150} size={1.1} />
      <Flower x={180} y={122} size={0.7} />
      <Flower x={222} y={140} size={0.95} />
      <Flower x={244} y={106} size={0.6} />
    </>
  )
}

function RooftopScene() {
  return (
    <>
      <path d="M0 60h268v30H0z" fill="var(--haze)" />
      <path d="M0 84h268v60H0z" fill="var(--sea)" />
      <path d="M36 94h40M150 100h54" stroke="var(--glint-soft)" stroke-width="2.5" />
      <path d="M0 128 54 104l52 24v62H0z" fill="var(--roof)" />
      <path d="M10 134h86v56H10z" fill="var(--wall)" />
      <path d="M44 148h18v24H44z" fill="var(--pane)" />
      <path d="M96 146 178 116l90 32v42H96z" fill="var(--roof-deep)" />
      <path d="M110 154h158v36H110z" fill="var(--wall-shade)" />
      <path d="M206 100h16v30h-16z" fill="var(--wall)" />
      <path d="M203 96h22v5h-22z" fill="var(--roof)" />
      <path
        d="M150 126c-2-10 2-17 8-18l-1-8 5 4 5-4 1 8c4 4 2 12-2 16 8-1 10-6 9-11"
        fill="var(--cat)"
        stroke="var(--cat)"
        stroke-width="1.5"
      />
    </>
  )
}
