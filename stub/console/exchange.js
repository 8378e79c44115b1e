// A request and its response, in the inspector.

import { html, useEffect, useState } from "./preact.js";
import { curlOf, isCutBody, repeatable, sizeOf } from "./command.js";
import { Inspector } from "./inspector.js";
import { Code, Copy, dateAndTime, Pairs, plural, Tabs, visible } from "./parts.js";
import { poll } from "./poll.js";
import { linkTo } from "./session.js";
import { set, state } from "./state.js";
import { read, send } from "./wire.js";

const PHRASES = `200 OK, 201 Created, 400 Bad Request, 401 Unauthorized, 402 Payment Required, 403 Forbidden, 404 Not Found, 405 Method Not Allowed,
406 Not Acceptable, 407 Proxy Authentication Required, 408 Request Timeout, 409 Conflict, 410 Gone, 411 Length Required, 412 Precondition Failed,
413 Request Entity Too Large, 414 Request URI Too Long, 415 Unsupported Media Type, 416 Requested Range Not Satisfiable, 417 Expectation Failed,
418 I'm a teapot, 421 Misdirected Request, 422 Unprocessable Entity, 423 Locked, 424 Failed Dependency, 425 Too Early, 426 Upgrade Required,
428 Precondition Required, 429 Too Many Requests, 431 Request Header Fields Too Large, 449 Retry With, 451 Unavailable For Legal Reasons,
500 Internal Server Error, 501 Not Implemented, 502 Bad Gateway, 503 Service Unavailable, 504 Gateway Timeout, 505 HTTP Version Not Supported,
506 Variant Also Negotiates, 507 Insufficient Storage, 508 Loop Detected, 510 Not Extended, 511 Network Authentication Failed`.split(/,\s/);

export function Exchange({ number }) {
  const [entry, setEntry] = useState({}); // stays until the next one is known
  const [replayed, setReplayed] = useState({});
  useEffect(() => {
    let isCurrent = true;
    read(`/_stub/requests?after=${number - 1}&limit=1`).then((found) => {
      const first = found?.requests[0];
      if (isCurrent) setEntry(first?.number === number ? first : { isGone: true });
    });
    return () => (isCurrent = false);
  }, [number]);
  // A button that had the focus may be gone, or disabled.
  useEffect(() => document.activeElement === document.body && document.getElementById("inspector-title").focus(), [number, entry]);
  const { method, path, query, status } = entry;
  const curl = status ? curlOf(entry) : {};
  const replay = async () => setReplayed({ of: entry.number, ...(await repeat(entry, curl.url)) });
  const said = curl.isCut ? "No replay: the body is cut" : replayed.of === entry.number && replayed.said;
  const actions = html`<${Copy} text=${curl.command} title=${curl.differs}>Copy as curl<//>
    <${Copy} text=${linkTo(`&request=${number}`)}>Copy link<//>
    <button type="button" disabled=${!status || curl.isCut} aria-describedby="said" onClick=${replay}>Replay</button>
    <span id="said" class="hint" aria-live="polite">${!curl.isCut && said && replayed.found ? html`<button type="button"
      onClick=${() => set({ selected: { number: replayed.found } })}>${said}</button>` : said}</span>`;
  return html`<${Inspector} actions=${actions} opener=${`[data-number="${number}"] button`} status=${status}
    title=${status ? `${method} ${path}${query && `?${query}`}` : `Request ${number}`}>
    <${Tabs} names=${["Response", "Request", "curl"]} chosen=${state.part} choose=${(part) => set({ part })}>
      ${status ? html`<${Part} entry=${entry} curl=${curl} />` : entry.isGone ? "The journal no longer has this request." : "Loading…"}
    <//>
  <//>`;
}

/** Send a request again, with the current token. Returns what came of it, and the number of the new entry. */
async function repeat({ method, path, query, headers, body }, url) {
  const { last } = state;
  const hasBody = body && method !== "GET" && method !== "HEAD";
  try {
    const response = await send(method, url, undefined, { headers: repeatable(headers), body: hasBody ? body : undefined });
    const newer = await read(`/_stub/requests?after=${last}`);
    poll();
    const entry = newer?.requests.findLast((each) => each.method === method && each.path === path && each.query === query);
    return { said: `Replayed: ${response.status}`, found: entry?.number };
  } catch {
    return { said: "Not replayed: not sent, or no response" };
  }
}

function Part({ entry, curl }) {
  if (state.part === "curl") return html`<${Code} text=${curl.command} label="As curl" /><p class="hint">${curl.differs}</p>`;
  const { response, status, ms, code, time, operation, fault, grease, unpromised, violations } = entry;
  const isRequest = state.part === "Request";
  const { headers, body } = isRequest ? entry : response;
  const facts = isRequest ? { Operation: operation ?? "none", Time: `${dateAndTime(time)} UTC` } : {
    Status: PHRASES.find((each) => each.startsWith(status)) ?? status, Code: code,
    Duration: `${ms.toFixed(1)} ms`, Fault: fault, Grease: grease.join(", "),
  };
  const findings = [...unpromised.map((what) => ["unpromised", "△", what]), ...violations.map((what) => ["violation", "✕", what])]
    .map(([kind, symbol, what]) => html`<li class=${kind}>${symbol} ${kind}: ${visible(what)}</li>`);
  const fields = Object.entries(headers);
  const size = headers["Content-Length"];
  const isOf = size ? ` of ${Number(size).toLocaleString("en")}` : "";
  return html`<${Pairs} of=${Object.entries(facts).filter(([, value]) => value)} />
    ${findings.length > 0 && html`<ul>${findings}</ul>`}
    <details><summary>${plural(fields.length, "header")}</summary><${Pairs} of=${fields} /></details>
    ${isCutBody(body, size) && html`<p class="hint">The first ${sizeOf(body).toLocaleString("en")}${isOf} bytes</p>`}
    ${body ? html`<${Code} text=${indented(body)} label="${state.part} body" />` : html`<p class="hint">No body.</p>`}`;
}

/** JSON, or its beginning, with line breaks. It stays text, so that no digit and no repeated member is lost. */
function indented(text) {
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
