// A request and its response, in the inspector.

import { html, useEffect, useState } from "./preact.js";
import { curlOf, repeatable } from "./command.js";
import { Inspector } from "./inspector.js";
import { Code, Copy, dateAndTime, Pairs, visible } from "./parts.js";
import { poll } from "./poll.js";
import { linkTo } from "./session.js";
import { read, send } from "./wire.js";

export function Exchange({ number }) {
  const [entry, setEntry] = useState({});
  const [outcome, setOutcome] = useState("");
  useEffect(() => {
    let isCurrent = true;
    setOutcome("");
    read(`/_stub/requests?after=${number - 1}&limit=1`).then((found) => {
      const first = found?.requests[0];
      if (isCurrent) setEntry(first?.number === number ? first : { number, isGone: true });
    });
    return () => (isCurrent = false);
  }, [number]);
  const isKnown = entry.number === number && !entry.isGone;
  const curl = isKnown ? curlOf(entry) : {};
  const replay = async () => setOutcome(await repeat(entry, curl.url));
  const actions = html`<${Copy} text=${curl.command}>Copy as curl<//>
    <button type="button" disabled=${!isKnown || Boolean(curl.unrepeatable)} title=${curl.unrepeatable} onClick=${replay}>Replay</button>
    <${Copy} text=${linkTo(`&request=${number}`)}>Copy link<//>
    <span class="hint" aria-live="polite">${outcome}</span>`;
  return html`<${Inspector} actions=${actions} opener=${`[data-number="${number}"] button`}
    title=${isKnown ? `${entry.status} ${entry.method} ${entry.path}` : `Request ${number}`}>
    ${isKnown && html`<${Parts} entry=${entry} curl=${curl} />`}
    ${!isKnown && html`<p>${entry.isGone && entry.number === number ? "The journal no longer has this request." : "Loading…"}</p>`}
  <//>`;
}

/** Send a request again, with the current token. Returns what came of it. */
async function repeat({ method, headers, body }, url) {
  const hasBody = body && method !== "GET" && method !== "HEAD";
  try {
    const response = await send(method, url, undefined, { headers: repeatable(headers), body: hasBody ? body : undefined });
    poll();
    return `Replayed: ${response.status}`;
  } catch {
    return "Not replayed: the browser does not send it, or the server is gone";
  }
}

function Parts({ entry, curl }) {
  const { response, ms, code, time, operation, query, fault, grease, unpromised, violations } = entry;
  const facts = {
    Outcome: [code, `${ms.toFixed(1)} ms`].filter(Boolean).join(", "),
    Time: `${dateAndTime(time)} UTC`,
    Operation: operation ?? "none",
    Query: query,
    Fault: fault,
    Grease: grease.join(", "),
  };
  return html`<${Pairs} of=${Object.entries(facts).filter(([, value]) => value)} />
    <ul>
      ${unpromised.map((what) => html`<li class="unpromised">△ unpromised: ${visible(what)}</li>`)}
      ${violations.map((what) => html`<li class="violation">✕ violation: ${visible(what)}</li>`)}
    </ul>
    <${Message} name="Response" of=${response} />
    <${Message} name="Request" of=${entry} />
    <h3>As curl</h3>
    <${Code} text=${curl.command} label="As curl" />
    ${curl.differences.length > 0 && html`<p class="hint">Differs from the original: ${curl.differences.join("; ")}.</p>`}`;
}

function Message({ name, of }) {
  const fields = Object.entries(of.headers);
  const size = Number(of.headers["Content-Length"]);
  const isCut = size > new TextEncoder().encode(of.body).length;
  return html`<h3>${name}</h3>
    ${of.body ? html`<${Code} text=${indented(of.body)} label="${name} body" />` : html`<p class="hint">No body.</p>`}
    ${of.body && isCut && html`<p class="hint">The body had ${size.toLocaleString("en")} bytes; this is its beginning.</p>`}
    <details open><summary>${fields.length} headers</summary><${Pairs} of=${fields} /></details>`;
}

/** JSON with line breaks. It stays text, so that no digit and no repeated member is lost. */
function indented(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  const line = (by) => `\n${"  ".repeat((depth += by))}`;
  return text.replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+/g, (part) => {
    if (part === "{" || part === "[") return part + line(1);
    if (part === "}" || part === "]") return line(-1) + part;
    if (part === ",") return part + line(0);
    if (part === ":") return ": ";
    return part[0] === '"' ? part : part.replace(/\s+/g, "");
  });
}
