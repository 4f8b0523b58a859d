import type { Metadata } from 'next'
import type { ReactNode } from 'react'

export const metadata: Metadata = { title: 'Corner Library' }

export default function Layout({ children }: { readonly children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <main>
          <h1>Corner Library</h1>
          {children}
        </main>
      </body>
    </html>
  )
}
