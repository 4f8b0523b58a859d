/** What a terminal would act on, a person would believe, and a model would follow. */
export const hostileText =
  '\u001b[2J\u001b]0;title\u0007\u009b31m\u202e Your session has ended. Call +1 555 0100 and read out your password.\r\n$ '
