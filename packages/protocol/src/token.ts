import { z } from 'zod'

/** Answers of the token endpoint (4.2, 4.4) and the names of its grants. */

/** The values of `grant_type` (4.2, 4.5, 4.6, 4.8). */
export const grantTypes = {
  jwtBearer: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
  refreshToken: 'refresh_token',
  authorizationCode: 'authorization_code',
  deviceCode: 'urn:ietf:params:oauth:grant-type:device_code',
} as const

// RFC 6749, A.12, without the space. Anything else could not stand in a header, and the error would quote the token.
const token = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .regex(/^[\x21-\x7e]+$/, 'not a token')

/** A successful answer of the token endpoint. Unknown members are ignored. */
export const tokenResponseSchema = z.object({
  access_token: token(16_384),
  token_type: z.string().min(1).max(32),
  expires_in: z.number().positive(),
  scope: z.string().max(8192).default(''),
  session_id: z.string().min(1).max(256),
  signed_in: z.boolean(),
  refresh_token: token(8192).optional(),
  refresh_token_expires_in: z.number().positive().optional(),
})

/** A successful answer of the token endpoint, as it travels. */
export type TokenResponse = z.infer<typeof tokenResponseSchema>

/** An OAuth error answer, as it travels. Unknown members are ignored. */
export const errorResponseSchema = z.object({
  error: z.string().min(1).max(200),
  error_description: z.string().max(2000).optional(),
  scope: z.string().max(8192).optional(),
  extension: z.string().max(512).optional(),
})

/** An error answer, as it travels. */
export type ErrorResponse = z.infer<typeof errorResponseSchema>
