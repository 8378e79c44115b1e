// The coverage: what the client has met, and what it depended on.

import { html } from "./preact.js";
import { commandOf } from "./command.js";
import { Empty, visible } from "./parts.js";
import { showOnly } from "./search.js";
import { state } from "./state.js";
import { Term } from "./words.js";

export function Coverage() {
  const { operations, met, of, unpromised, violations } = state.view.coverage;
  const names = Object.keys(operations);
  const statuses = [...new Set(names.flatMap((name) => Object.keys(operations[name])))].sort();
  const groups = Object.groupBy(statuses, (status) => (status === "other" ? status : `${status[0]}xx`));
  return html`<div class="stack">
    <p>${met} of ${of} <${Term} name="outcome">outcomes<//> met</p>
    <progress max=${of} value=${met} aria-label="Coverage"></progress>
    <p class="hint">✓ met, how often · ○ not met · – not declared</p>
    <table id="matrix" aria-label="Outcomes">
      <thead><tr><th scope="col">Status</th>${names.map((name) => html`<th scope="col">${broken(name)}</th>`)}</tr></thead>
      ${Object.entries(groups).map(([group, members]) => html`<tbody data-group=${group}>
        ${members.map((status) => html`<tr>
          <th scope="row">${status}</th>
          ${names.map((name) => html`<${Cell} name=${name} status=${status} count=${operations[name][status]} />`)}
        </tr>`)}
      </tbody>`)}
    </table>
    <p class="hint">△ <${Term} name="unpromised" />, ✕ <${Term} name="violation" />: what the client depended on, and what it broke</p>
    <ul id="findings">
      ${found("unpromised", "△", unpromised)}${found("violation", "✕", violations)}
    </ul>
    ${!met && html`<${Empty} text="No outcome is met yet. Let your client send requests, or ask for an outcome:"
      command=${commandOf("/v1/projects", '-H "Prefer: code=507"')} />`}
  </div>`;
}

/** A name in camel case, which may be broken between its words. */
const broken = (name) => name.split(/(?=[A-Z])/).map((word) => html`<wbr />${word}`);

function Cell({ name, status, count }) {
  if (count === undefined) return html`<td class="undeclared">–</td>`;
  if (!count) return html`<td class="unmet"><span aria-label="not met" role="img">○</span></td>`;
  const text = `✓ ${count.toLocaleString("en")}`;
  if (status === "other") return html`<td class="met">${text}</td>`;
  return html`<td class="met"><button type="button" aria-label="${text}: the requests of ${name} with ${status}"
    onClick=${() => showOnly(`${name} ${status}`, { operation: name, status })}>${text}</button></td>`;
}

const found = (kind, symbol, { count, first }) => [
  ...first.map(({ what, count }) => html`<li class=${kind}><button type="button" onClick=${() => showOnly(what, { finding: what })}>
    ${symbol} ${kind}: ${visible(what)} (${count.toLocaleString("en")}×)</button></li>`),
  ...(count > first.length ? [html`<li class=${kind}>${symbol} ${kind}: ${count - first.length} more</li>`] : []),
];
