import type { NextConfig } from 'next'

const config: NextConfig = {
  // Node loads the library itself: one for the whole process, with the parts that it loads when they are needed.
  serverExternalPackages: ['poppyseed'],
}

export default config
