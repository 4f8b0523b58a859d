/** The one look of all pages: custom properties that a company overrides, system fonts, light and dark. */
export const stylesheet = `
:root{color-scheme:light dark;
--accent:#b3261e;--accent-ink:#fff;--ground:#fff;--page:#faf8f6;--ink:#1d1b19;--quiet:#5d5751;--line:#e2dcd5;--focus:#1a5fb4;
--font:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
--s1:4px;--s2:8px;--s3:12px;--s4:16px;--s6:24px;--s8:32px;--s12:48px;
--t1:13px;--t2:15px;--t3:17px;--t4:22px;--t5:28px;--radius:12px}
@media (prefers-color-scheme:dark){:root{--accent:#ff8a7a;--accent-ink:#2a0a06;--ground:#1f1c1a;--page:#161412;--ink:#f1ece7;--quiet:#b5aca3;--line:#3a3531;--focus:#8ab4f8}}
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:var(--t2)/1.5 var(--font);min-height:100vh;min-height:100svh;display:grid;grid-template-rows:1fr;place-items:start center;padding:var(--s4)}
@media (min-width:600px){body{place-items:center}}
main{width:100%;max-width:440px;background:var(--ground);border:1px solid var(--line);border-radius:var(--radius);padding:var(--s6)}
@media (min-width:600px){main{padding:var(--s8)}}
h1{font-size:var(--t4);line-height:1.25;letter-spacing:-.01em;margin:0;font-weight:650;overflow-wrap:anywhere}
p{margin:0}
a{color:inherit;text-underline-offset:3px}
.quiet{color:var(--quiet);font-size:var(--t1);line-height:1.5}
.company{color:var(--quiet);font-size:var(--t1);margin-bottom:var(--s3)}
.host{font-size:var(--t2);color:var(--quiet);margin-top:var(--s1);overflow-wrap:anywhere}
.asker{display:flex;gap:var(--s3);align-items:flex-start;justify-content:space-between}
.asker>div{min-width:0}
.logo{flex:none;width:48px;height:48px;object-fit:contain;border-radius:10px;color:transparent}
.account{display:flex;flex-wrap:wrap;gap:0 var(--s3);align-items:baseline;justify-content:space-between;border-top:1px solid var(--line);margin-top:var(--s4);padding-top:var(--s3)}
.account span{overflow-wrap:anywhere}
fieldset{border:0;margin:var(--s4) 0 0;padding:0;min-width:0}
legend{padding:0;font-size:var(--t2);font-weight:600;margin-bottom:var(--s1)}
.right{display:flex;gap:var(--s3);align-items:flex-start;padding:10px 0;border-top:1px solid var(--line);cursor:pointer}
legend + .right{border-top:0}
.right input{appearance:none;flex:none;width:40px;height:24px;margin:0;border-radius:12px;border:1px solid var(--quiet);background:transparent;position:relative;cursor:pointer;transition:background .12s}
.right input::after{content:"";position:absolute;top:3px;inset-inline-start:3px;width:16px;height:16px;border-radius:50%;background:var(--quiet);transition:transform .12s}
.right input:checked{background:var(--accent);border-color:var(--accent)}
.right input:checked::after{transform:translateX(16px);background:var(--accent-ink)}
[dir=rtl] .right input:checked::after{transform:translateX(-16px)}
.right span{padding-top:1px;overflow-wrap:anywhere}
@media (forced-colors:active){.right input{appearance:auto;width:20px;height:20px}}
.device{color:var(--quiet);font-size:var(--t2);margin-top:var(--s2)}
.usercode{font:600 var(--t2)/1.2 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:.06em;color:var(--ink);white-space:nowrap}
.code{display:block;margin-top:var(--s4)}
.code span{display:block;font-weight:600;margin-bottom:var(--s1)}
.code input{width:100%;font:600 var(--t4)/1.2 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:.1em;text-align:center;text-transform:uppercase;padding:var(--s3);border-radius:10px;border:1px solid var(--quiet);background:transparent;color:var(--ink)}
.code input::placeholder{color:var(--quiet);opacity:.6}
h2{font-size:var(--t3);line-height:1.3;margin:0;font-weight:650;overflow-wrap:anywhere}
.agent{border-top:1px solid var(--line);margin-top:var(--s6);padding-top:var(--s4)}
.agent .host{margin-top:0}
.agent ul{list-style:none;margin:var(--s2) 0 var(--s3);padding:0}
.agent li{display:flex;gap:var(--s3);align-items:center;justify-content:space-between;padding:var(--s1) 0}
.agent li span{overflow-wrap:anywhere}
.agent li button{flex:none;min-height:36px;border:0;padding:0 var(--s2);font-weight:400;color:var(--quiet);text-decoration:underline;text-underline-offset:3px}
.agent li button:hover{color:var(--ink)}
.agent>form,.all form{display:flex}
.all{border-top:1px solid var(--line);margin-top:var(--s6);padding-top:var(--s4)}
.terms{border-top:1px solid var(--line);margin-top:var(--s4)}
.terms caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.terms{width:100%;border-collapse:collapse;font-size:var(--t2)}
.terms th,.terms td{text-align:start;vertical-align:top;padding:var(--s2) 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere;font-weight:400}
.terms th{color:var(--quiet);padding-inline-end:var(--s3);width:40%}
.summary{margin-top:var(--s4);font-size:var(--t3);white-space:pre-line;overflow-wrap:anywhere}
.done{border-inline-start:3px solid var(--quiet);padding:var(--s2) var(--s3);margin-top:var(--s4)}
.note{margin-top:var(--s3)}
.alert{border-inline-start:3px solid var(--accent);padding:var(--s2) var(--s3);margin-top:var(--s4);background:color-mix(in srgb,var(--accent) 8%,transparent)}
.actions{display:flex;gap:var(--s3);margin-top:var(--s6)}
button,.button{flex:1;font:600 var(--t2)/1.2 var(--font);min-height:46px;padding:0 var(--s4);border-radius:10px;border:1px solid color-mix(in srgb,var(--quiet) 75%,transparent);background:transparent;color:var(--ink);cursor:pointer;text-decoration:none;display:inline-flex;align-items:center;justify-content:center}
button.primary{background:var(--accent);border-color:var(--accent);color:var(--accent-ink)}
button:hover{border-color:var(--quiet)}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
@media (max-width:599px) and (max-height:760px){
html{scroll-padding-bottom:80px}
body{padding:var(--s2)}
main{padding:var(--s4)}
h1{font-size:20px}
.company{margin-bottom:var(--s2)}
.account{margin-top:var(--s3);padding-top:var(--s2)}
fieldset,.alert{margin-top:var(--s3)}
.right{padding:var(--s2) 0}
.actions{margin-top:var(--s2);padding:var(--s2) 0;position:sticky;bottom:0;background:var(--ground)}
}
@media (prefers-reduced-motion:reduce){*{transition:none!important}}
`
