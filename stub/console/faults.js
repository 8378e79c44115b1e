// The faults: a form that adds one, and those that wait.

import { html } from "./preact.js";
import { commandOf } from "./command.js";
import { Empty, invalid, plural, Problem, useAttempt, visible } from "./parts.js";
import { Term } from "./words.js";
import { announce, state } from "./state.js";

const NUMBERS = { status: "", retry_after: "", delay: "0", cut: "", times: "1" }; // with their defaults
const LABELS = { status: "Status", retry_after: "Retry after (s)", delay: "Delay (s)", cut: "Cut (bytes)", times: "Times", path: "Path" };

export function Faults() {
  const { count, first } = state.view.faults;
  const [error, attempted, forget] = useAttempt();
  const onSubmit = async (event) => {
    event.preventDefault();
    const fault = {};
    for (const { name, value, type, validity } of event.target.elements) {
      if (!name) continue;
      if (validity.badInput) fault[name] = "not a number";
      else if (value) fault[name] = type === "number" ? Number(value) : value;
    }
    if (!(await attempted("POST", "/_stub/faults", fault))) return;
    event.target.reset();
    announce("Fault added");
  };
  const remove = async (id) => {
    document.getElementById("clear-faults").focus(); // the button of a fault goes with it
    if (await attempted("DELETE", id ? `/_stub/faults/${id}` : "/_stub/faults")) announce(id ? "Fault removed" : "Faults cleared");
  };
  const field = (name, input) => html`<div class="field"><label for="fault-${name}">${LABELS[name]}</label>${input}</div>`;
  const attributes = (name) => ({ id: `fault-${name}`, name, ...invalid(error, name, "fault-error") });
  return html`<h3><${Term} name="fault">Faults<//></h3>
    <form id="fault" novalidate autocomplete="off" onSubmit=${onSubmit} onInput=${forget}>
      <div class="field wide">
        <label for="fault-operation">Operation</label>
        <select ...${attributes("operation")}>
          <option value="">any</option>
          ${Object.keys(state.view.coverage.operations).map((name) => html`<option value=${name}>${name}</option>`)}
        </select>
      </div>
      <div class="field wide"><label for="fault-path">Path</label><input ...${attributes("path")} type="text" spellcheck=${false} placeholder="any" /></div>
      ${Object.entries(NUMBERS).map(([name, value]) =>
        field(name, html`<input ...${attributes(name)} type="number" step="any" placeholder=${value} />`),
      )}
      <div class="bar wide">
        <button>Add fault</button>
        <button id="clear-faults" type="button" onClick=${() => remove("")}>Clear faults</button>
      </div>
    </form>
    <${Problem} error=${error} id="fault-error" />
    <p class="hint">The next requests get this status, or a delay, or both.</p>
    <ul id="faults">
      ${first.map((fault) => html`<li key=${fault.id}>
        <p>${describe(fault)}</p>
        <button type="button" aria-label="Remove ${fault.id}" onClick=${() => remove(fault.id)}>✕</button>
      </li>`)}
      ${count > first.length && html`<li>and ${plural(count - first.length, "more fault")}</li>`}
    </ul>
    ${!count && html`<${Empty} text="No faults wait. Add one above, or from a test:" command=${commandOf(
      "/_stub/faults", '-H "Content-Type: application/json"', `-d '{"status": 503, "times": 1}'`,
    )} />`}`;
}

function describe(fault) {
  const what = fault.operation ?? `${fault.method ?? "any method"} ${fault.path ?? "any path"}`;
  const effects = [];
  if (fault.status !== undefined) effects.push(`status ${fault.status}`);
  if (fault.body !== undefined) effects.push(`body ${fault.content_type ?? "text/plain"}`);
  if (fault.retry_after !== undefined) effects.push(`retry after ${fault.retry_after} s`);
  if (fault.delay !== undefined) effects.push(`delay ${fault.delay} s`);
  if (fault.cut !== undefined) effects.push(`cut after ${fault.cut} bytes`);
  const left = fault.remaining === null ? "all" : `${fault.remaining} left`;
  return html`<b>${visible(what)}</b> ${visible(effects.join(", "))} <span>${left}</span>`;
}
