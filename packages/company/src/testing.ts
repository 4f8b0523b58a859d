/** `poppyseed/testing`: a whole Company in memory around a company's own tools, with an agent to call them. For tests only. */
export { CallRefused } from './testing/call-refused.ts'
export { createTestCompany, type TestCompany, type TestCompanyConfig } from './testing/test-company.ts'
export type { TestSession } from './testing/test-session.ts'
