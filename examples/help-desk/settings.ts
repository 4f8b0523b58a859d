/** For trying it on one machine. Anywhere else each secret is long, random, and in no file: `openssl rand -base64 32`. */
export const trying = {
  company: {
    port: 3103,
    token: 'only-for-trying-it-on-this-machine-1234',
    secret: 'whsec_b25seS1mb3ItdHJ5aW5nLWl0LW9uLXRoaXMtbWFjaGluZQ==',
  },
  adapter: { port: 3104 },
  desk: { port: 3105, token: 'only-for-trying-the-help-desk', secret: 'only-for-trying-its-webhooks' },
} as const
