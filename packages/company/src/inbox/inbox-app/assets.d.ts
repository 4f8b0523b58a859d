/** What a browser loads, as text, and by which names: they change with what is in it. Built by `build-inbox.ts`. */
export declare const script: string
/** See {@link script}. */
export declare const scriptName: string
/** See {@link script}. */
export declare const styles: string
/** See {@link script}. */
export declare const stylesName: string
