// The inspector: one request, beside the list.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./console.js?preact";
import { curlOf } from "./console.js?command";
import { Code, Copy, dateAndTime, focusQuietly, visible } from "./console.js?parts";
import { linkTo } from "./console.js?session";
import { set, state } from "./console.js?state";
import { read } from "./console.js?wire";

export const closeInspector = () => set({ selected: null });
const rowOf = (number) => document.querySelector(`[data-number="${number}"] button`);

export function Inspector({ number }) {
  const [entry, setEntry] = useState(null);
  const title = useRef();
  const shown = useRef();
  shown.current = number;
  useEffect(() => {
    let isCurrent = true;
    read(`/_stub/requests?after=${number - 1}&limit=1`).then((found) => {
      if (isCurrent) setEntry(found?.requests[0]?.number === number ? found.requests[0] : { number, isGone: true });
    });
    return () => (isCurrent = false);
  }, [number]);
  useLayoutEffect(() => {
    if (matchMedia("(max-width: 63.99rem)").matches) title.current.focus(); // it is the whole page
    return () => queueMicrotask(returnFocus);
  }, []);
  const returnFocus = () => {
    if (document.activeElement !== document.body) return;
    focusQuietly(rowOf(shown.current) ?? document.querySelector("#requests .scroller"));
  };
  const isKnown = entry?.number === number && !entry.isGone;
  const name = isKnown ? `${entry.method} ${entry.path}` : `Request ${number}`;
  return html`<aside id="inspector" aria-labelledby="inspector-title">
    <div class="bar">
      <h2 id="inspector-title" tabindex="-1" ref=${title}>${visible(name)}</h2>
      <button type="button" onClick=${closeInspector}>Close</button>
    </div>
    ${isKnown ? html`<${Request} entry=${entry} />` : html`<p>${entry?.isGone ? "The journal no longer has this request." : "Loading…"}</p>`}
  </aside>`;
}

function Request({ entry }) {
  const { command, differences } = curlOf(entry);
  const facts = {
    Response: `${entry.status}${entry.code ? ` ${entry.code}` : ""} after ${entry.ms.toFixed(1)} ms`,
    Time: `${dateAndTime(entry.time)} UTC`,
    Operation: entry.operation ?? "none",
    Query: entry.query,
    Fault: entry.fault,
    Grease: entry.grease.join(", "),
  };
  return html`<div class="bar">
      <${Copy} text=${command}>Copy as curl<//>
    </div>
    <div class="content">
      <${List} pairs=${Object.entries(facts).filter(([, value]) => value)} />
      <ul>
        ${entry.unpromised.map((what) => html`<li class="unpromised">△ unpromised: ${visible(what)}</li>`)}
        ${entry.violations.map((what) => html`<li class="violation">✕ violation: ${visible(what)}</li>`)}
      </ul>
      <h3>Headers</h3>
      <${List} pairs=${Object.entries(entry.headers)} />
      <h3>Body</h3>
      ${entry.body ? html`<${Code} text=${entry.body} label="Body" />` : html`<p class="hint">No body.</p>`}
      <h3>As curl</h3>
      <${Code} text=${command} label="As curl" />
      ${differences.length > 0 && html`<p class="hint">Differs from the original: ${differences.join("; ")}.</p>`}
    </div>`;
}

const List = ({ pairs }) => html`<dl>
  ${pairs.map(([name, value]) => html`<div><dt>${visible(name)}</dt><dd>${visible(value)}</dd></div>`)}
</dl>`;
