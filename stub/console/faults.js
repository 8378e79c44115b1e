// The faults: a form that adds a fault, and the list of waiting faults.

import { html } from "./preact.js";
import { Field, plural, Problem, readForm, useAttempt, visible } from "./parts.js";
import { Term } from "./words.js";
import { state } from "./state.js";

const DEFAULTS = { times: "1", delay: "0", path: "any" };
const LABELS = { headers: "Headers (one a line)", content_type: "Content type", delay: "Delay (s)", cut: "Cut (bytes)" };
const LONG = new Set(["headers", "body"]);
const TEXTS = new Set(["path", "content_type"]);
const CHOICES = { drop: { "": "no", before: "before the operation", after: "after the operation" } };

export function Faults() {
  const { count, first } = state.view.faults;
  const operations = { "": "any", ...Object.fromEntries(Object.keys(state.view.coverage.operations).map((each) => [each, each])) };
  const [error, attempted, forget] = useAttempt();
  const onSubmit = async (event) => {
    event.preventDefault();
    const fault = readForm(event.target);
    if (fault.headers) fault.headers = parseFields(fault.headers);
    if (fault.drop) Object.assign(fault, { drop: true, performed: fault.drop === "after" });
    const details = event.target.querySelector("details");
    if (!(await attempted("Fault added", "POST", "/_stub/faults", fault))) return (details.open ||= Boolean(details.querySelector("[aria-invalid]")));
    event.target.reset();
  };
  const remove = (id) => {
    document.getElementById("clear-faults").focus(); // The button of a fault disappears.
    attempted(id ? "Fault removed" : "Faults cleared", "DELETE", id ? `/_stub/faults/${id}` : "/_stub/faults");
  };
  const field = (name) => html`<${Field} form="fault" name=${name} label=${LABELS[name]} error=${error} placeholder=${DEFAULTS[name]}
    isText=${TEXTS.has(name)} isLong=${LONG.has(name)} choices=${CHOICES[name] ?? (name === "operation" && operations)} />`;
  return html`<h3><${Term} name="fault">Faults<//></h3>
    <form id="fault" novalidate autocomplete="off" onSubmit=${onSubmit} onInput=${forget}>
      <div class="fields">${["status", "times", "operation"].map(field)}</div>
      <details>
        <summary>Path, delay, drop, headers, body and more</summary>
        <div class="fields">${["path", "delay", "cut", "drop", "headers", "body", "content_type"].map(field)}</div>
      </details>
      <div class="bar">
        <button>Add fault</button>
        <button id="clear-faults" type="button" aria-disabled=${String(!count)} onClick=${() => count && remove("")}>Clear faults</button>
      </div>
    </form>
    <${Problem} error=${error} id="fault-error" />
    <p class="hint">The next matching requests get the status, the delay or the cut. A drop closes the connection without a response.</p>
    <ul id="faults">
      ${first.map((fault) => html`<li key=${fault.id}>
        <p>${describe(fault)}</p>
        <button type="button" aria-label="Remove ${fault.id}" onClick=${() => remove(fault.id)}>✕</button>
      </li>`)}
      ${count > first.length && html`<li>and ${plural(count - first.length, "more fault")}</li>`}
      ${!count && html`<li><p class="hint">No faults are waiting.</p></li>`}
    </ul>`;
}

/** Parse header fields, one in a line: "Retry-After: 5". A repeated name gets a list. */
function parseFields(text) {
  const fields = {};
  for (const line of text.split("\n").filter((each) => each.trim())) {
    const [start, ...rest] = line.split(":");
    const name = start.trim();
    const value = rest.join(":").trim();
    fields[name] = Object.hasOwn(fields, name) ? [fields[name], value].flat() : value;
  }
  return fields;
}

function describe(fault) {
  const what = fault.operation ?? `${fault.method ?? "any method"} ${fault.path ?? "any path"}`;
  const effects = [];
  if (fault.status !== undefined) effects.push(`status ${fault.status}`);
  if (fault.headers) effects.push(`headers ${Object.keys(fault.headers).join(" ")}`);
  if (fault.body !== undefined) effects.push(`body ${fault.content_type ?? "text/plain"}`);
  if (fault.delay !== undefined) effects.push(`delay ${fault.delay} s`);
  if (fault.drop) effects.push(`drop ${CHOICES.drop[fault.performed ? "after" : "before"]}`);
  if (fault.cut !== undefined) effects.push(`cut after ${fault.cut} bytes`);
  const left = fault.remaining === null ? "all" : `${fault.remaining} left`;
  return html`<b>${visible(what)}</b> ${visible(effects.join(", "))} <span>${left}</span>`;
}
