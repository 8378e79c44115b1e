// A request and its response, in the inspector.

import { html, useEffect, useState } from "./preact.js";
import { buildCurl, isCut, countBytes } from "./command.js";
import { Inspector } from "./inspector.js";
import { Code, Copy, dateAndTime, marked, Pairs, plural, Tabs, visible } from "./parts.js";
import { poll } from "./poll.js";
import { buildLink } from "./session.js";
import { set, state } from "./state.js";
import { read, send } from "./wire.js";

export function Exchange({ entry }) {
  const { number, method, path, query, status } = entry;
  const [replayed, setReplayed] = useState({});
  // The button that had the focus may be gone.
  useEffect(() => document.activeElement === document.body && document.getElementById("inspector-title").focus(), [number]);
  const isKept = status !== undefined; // The status is 0 if nothing was sent.
  const curl = isKept ? buildCurl(entry) : {};
  const isRepeatable = curl.unrepeatable === "";
  const replay = async () => setReplayed({ of: number, ...(await repeat(entry, curl)) });
  const { said, found } = curl.unrepeatable ? { said: `No replay: ${curl.unrepeatable}` } : replayed.of === number ? replayed : {};
  const actions = html`<${Copy} text=${curl.command} title=${curl.differs}>Copy as curl<//>
    <${Copy} text=${buildLink(`&request=${number}`)}>Copy link<//>
    <button type="button" aria-disabled=${String(!isRepeatable)} aria-describedby="said" onClick=${isRepeatable && replay}>Replay</button>
    <span id="said" class="hint" aria-live="polite">
      ${found ? html`<button type="button" onClick=${() => set({ selected: found })}>${said}</button>` : said}</span>`;
  return html`<${Inspector} actions=${actions} opener=${`#requests [data-number="${number}"] button`} status=${status}
    title=${isKept ? `${method} ${path}${query && `?${query}`}` : `Request ${number}`}>
    <${Tabs} names=${["Response", "Request", "curl"]} chosen=${state.part} choose=${(part) => set({ part })}>
      ${isKept ? html`<${Part} entry=${entry} curl=${curl} />` : "The journal no longer has this request."}
    <//>
  <//>`;
}

/** Send a request again, with the current token. Return the result, and the new entry. */
async function repeat({ method, path, query, body }, { url, headers }) {
  const { last } = state.view.requests;
  try {
    const response = await send(method, url, undefined, { headers, body: body || undefined });
    const newer = await read(`/_stub/requests?after=${last}`);
    poll();
    const found = newer?.requests.findLast((each) => each.method === method && each.path === path && each.query === query);
    return { said: `Replayed: ${response.status}`, found };
  } catch {
    return { said: "Not replayed: there was no response" };
  }
}

/** Find the reason phrase of a status: the title of a problem document. */
const findPhrase = (status, body) => ({ 200: "OK", 201: "Created" })[status] ?? /"title": "([^"]*)"/.exec(body)?.[1] ?? "";

function Part({ entry, curl }) {
  if (state.part === "curl") return html`<${Code} text=${curl.command} label="As curl" /><p class="hint">${curl.differs}</p>`;
  const { response, status, ms, code, time, operation, fault, grease, unpromised, violations } = entry;
  const isRequest = state.part === "Request";
  const { headers, body } = isRequest ? entry : response;
  const facts = isRequest ? { Operation: operation ?? "none", Time: `${dateAndTime(time)} UTC` } : {
    Status: `${status} ${findPhrase(status, body)}`, Code: code,
    Duration: `${ms.toFixed(1)} ms`, Fault: fault, Grease: grease.join(", "),
  };
  const findings = Object.entries({ unpromised, violation: violations }).flatMap(([kind, found]) =>
    found.map((what) => html`<li class=${kind}>${marked(kind)}: ${visible(what)}</li>`));
  const fields = Object.entries(headers);
  const size = headers["Content-Length"];
  const bytes = `${Number(size).toLocaleString("en")} bytes`;
  return html`<${Pairs} of=${Object.entries(facts).filter(([, value]) => value)} />
    ${findings.length > 0 && html`<ul>${findings}</ul>`}
    <details><summary>${plural(fields.length, "header")}</summary><${Pairs} of=${fields} /></details>
    ${body && isCut(size) && html`<p class="hint">The first ${countBytes(body).toLocaleString("en")} of ${bytes}</p>`}
    ${body ? html`<${Code} text=${indent(body)} label="${state.part} body" />` : html`<p class="hint">${size > 0 ? `The ${bytes} cannot be shown.` : "No body."}</p>`}`;
}

/** Break JSON, or its beginning, into lines. It stays text, so no digit and no repeated member is lost. */
function indent(text) {
  if (!/^[ \t\n\r]*[[{]/.test(text)) return text;
  let depth = 0;
  const line = (by) => `\n${"  ".repeat(Math.max(0, Math.min(16, (depth += by))))}`;
  const parts = /"(?:[^"\\]|\\[^])*"?|[ \t\n\r]*(\{[ \t\n\r]*\}|\[[ \t\n\r]*\]|[{}[\],:])[ \t\n\r]*/g;
  return text.replace(parts, (part, mark) => {
    if (mark === "{" || mark === "[") return mark + line(1);
    if (mark === "}" || mark === "]") return line(-1) + mark;
    if (mark === ",") return mark + line(0);
    if (mark === ":") return ": ";
    return mark ? mark[0] + mark.at(-1) : part;
  });
}
