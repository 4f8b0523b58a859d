/** The few signs of the inbox. Each stands beside words that say the same: they are hidden from screen readers. */

const paths = {
  person: 'M8 8.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4Zm-5.8 6c0-2.6 2.6-4.2 5.8-4.2s5.8 1.6 5.8 4.2',
  ai: 'M4.5 4.5h7a1.5 1.5 0 0 1 1.5 1.5v5a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 3 11V6a1.5 1.5 0 0 1 1.5-1.5ZM8 4.5V2M6 8v1M10 8v1M1 8v1.5M15 8v1.5',
  verified: 'M3 8.5 6.5 12 13 4.5',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  back: 'M10 3 5 8l5 5',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14',
  note: 'M3 2.5h10v7l-4 4H3zM9 13.5v-4h4',
  close: 'M4 4l8 8M12 4l-8 8',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Zm0-6.5V11M8 5h.01',
  alert: 'M8 2 1.5 13.5h13zM8 6.5v3M8 11.5h.01',
} as const

/** The name of a sign. */
export type IconName = keyof typeof paths

/** Draws one. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={paths[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}
