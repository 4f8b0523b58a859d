import type { DeviceCodesTable } from '../../store/tables.ts'

/** Section 4.6: until when a person may approve, so that page and poll say the same. Pure. */

/** Polls that have to fit between an approval and the end of the codes. */
export const pollsAfterApproval = 2

/**
 * Until when a request can be approved, in milliseconds since 1970: a little before its codes end. Else the page would say
 * that the agent is in, and the agent, asking an interval later or by a faster clock, be told that it came too late (4.6).
 */
export function approvableUntil(device: Pick<DeviceCodesTable, 'expires_at' | 'interval_seconds'>): number {
  return device.expires_at - Number(device.interval_seconds) * pollsAfterApproval * 1000
}
